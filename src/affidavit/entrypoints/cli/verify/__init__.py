"""`affidavit verify`: proves an index, a stored diagnosis or the record of a repair again."""
