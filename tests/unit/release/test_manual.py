"""The manual page, and the order of the documentation's site."""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml
from release import __main__ as published
from release.build import ROOT
from release.manual import manual

from affidavit.entrypoints.cli.reference.commands_page import commands


def test_every_command_is_in_the_manual() -> None:
    page = manual().replace("\\-", "-")
    assert callable(published.main)
    for name, command in commands().items():
        if not getattr(command, "commands", None):
            assert f".SS {name}" in page


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff, which reads manual pages, is not on this machine")
def test_the_manual_is_read_without_a_complaint() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-K", "utf8"], input=manual(), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("AFFIDAVIT(1)")


def pages_in(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in pages_in(part)]


def test_the_site_has_every_page_once_in_four_parts() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert [next(iter(part)) for part in nav] == ["Tutorial", "How to", "Reference", "Explanation"]
    written = sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))
    assert sorted(pages_in(nav)) == written


def test_every_link_and_anchor_on_a_page_leads_somewhere() -> None:
    pages = {page: page.read_text("utf-8") for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]}
    for page, text in pages.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)):
            if "://" in target or target.startswith("mailto:"):
                continue
            place, _, anchor = target.partition("#")
            found = (page.parent / place).resolve() if place else page
            assert found.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in anchors(found), f"{page.name}: {target}"


@cache
def anchors(page: Path) -> set[str]:
    """As GitHub and the site's generator name headings."""
    text = page.read_text("utf-8")
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
