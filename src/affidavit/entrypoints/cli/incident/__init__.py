"""`affidavit incident`."""
