"""The page for reviewers names tests: each of them is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_test_that_the_page_of_repairs_names_exists() -> None:
    page = (ROOT / "docs" / "remediation.md").read_text()
    named = re.findall(r"`(?:(tests/flows/)|)(test_\w+\.py)::(test_\w+)`", page)
    assert len(named) > 30
    for folder, file, test in named:
        (place,) = (ROOT / (folder or "tests/unit/remediation")).rglob(file)
        text = place.read_text()
        assert f"def {test}(" in text, f"{file}::{test}"
