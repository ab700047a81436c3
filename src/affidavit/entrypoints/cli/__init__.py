"""The `affidavit` command."""
