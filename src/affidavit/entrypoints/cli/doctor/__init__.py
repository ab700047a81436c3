"""`affidavit doctor`: what works here, and what would make the rest work."""
