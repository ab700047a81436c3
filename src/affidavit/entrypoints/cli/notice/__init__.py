"""`affidavit notice`: who is told how incidents end."""
