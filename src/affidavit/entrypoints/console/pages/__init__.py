"""The pages, one module each: parse what was asked, call, present."""
