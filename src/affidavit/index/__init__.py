"""From files to a findings index: scan, timestamps, fold, suppress, confirm."""
