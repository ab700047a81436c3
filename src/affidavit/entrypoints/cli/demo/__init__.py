"""`affidavit demo`."""
