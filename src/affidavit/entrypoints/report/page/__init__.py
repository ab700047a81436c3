"""The HTML report: what the page is made of (template, style, script) and the data it shows."""
