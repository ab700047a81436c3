"""The report of an analysis in its forms: terminal, Markdown, one HTML page."""
