"""The Chromium that browser tests, pictures and benchmarks drive."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM: Final = os.environ.get("AFFIDAVIT_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ARGUMENTS: Final = (
    *("--no-sandbox", "--headless=new", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None,
    reason="no Chromium on PATH: install it (Debian: apt-get install chromium) or set AFFIDAVIT_CHROMIUM to its path",
)


@contextmanager
def chromium(*more: str) -> Generator[Browser]:
    """`more` are arguments of the command line."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, *more])
        yield browser
        browser.close()
