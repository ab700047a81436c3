"""`affidavit sandbox`."""
