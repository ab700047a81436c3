"""`affidavit eval`."""
