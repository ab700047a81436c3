"""`affidavit baseline`: known-good states of functions."""
