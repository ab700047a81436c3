"""`affidavit rules`."""
