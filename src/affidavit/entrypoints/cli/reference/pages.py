"""Writes `docs/reference/` out of the rules, the checks, the detectors' rows and the command itself.

`python -m affidavit.entrypoints.cli.reference.pages` in the repository; with `--check` it only says what is stale.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from affidavit.checks.run_on_bundle import load_checks
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.reference.commands_page import commands_page
from affidavit.entrypoints.cli.reference.live_detectors_page import DETECTORS, detector_rows, detectors_page
from affidavit.entrypoints.cli.reference.rules_page import rules_page
from affidavit.entrypoints.cli.reference.settings_page import settings_page
from affidavit.entrypoints.mcp.tools.reference_page import tools_page
from affidavit.errors import InputRefused
from affidavit.rules.authoring import open_library

REFERENCE = Path("docs/reference")
_NOTE = "<!-- Written by `make docs`: change its sources, not this file. -->"


def main(arguments: list[str]) -> Exit:
    if not DETECTORS.is_file() or arguments not in ([], ["--check"]):
        print("usage: python -m affidavit.entrypoints.cli.reference.pages [--check]", file=sys.stderr)
        return Exit.REFUSED
    stale = stale_pages(Path())
    for path, content in stale.items():
        print(f"{path} is stale" if arguments else f"{path} written")
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
    return Exit.FOUND if arguments and stale else Exit.DONE


def stale_pages(root: Path) -> dict[Path, str]:
    """Pages that are not what they would be if written now."""
    return {
        path: content
        for name, content in pages(root).items()
        if not (path := root / REFERENCE / name).is_file() or path.read_text("utf-8") != content
    }


def pages(root: Path) -> dict[str, str]:
    library, checks = open_library(), load_checks()
    return {
        "rules.md": _page(rules_page(library, checks)),
        "detectors.md": _page(detectors_page(detector_rows(root), library, checks)),
        "commands.md": _page(commands_page()),
        "tools.md": _page(tools_page()),
        "settings.md": _page(settings_page()),
    }


def _page(lines: Iterable[str]) -> str:
    """One blank line at most between two others."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join([_NOTE, *lines]).rstrip() + "\n")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except InputRefused as error:
        sys.exit(f"{error}")
