"""`affidavit remedy`: the executor's own door."""
