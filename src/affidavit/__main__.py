"""`python -m affidavit`."""

from affidavit.entrypoints.cli.main import run

run()
