"""Takes pictures of every page of the console and of a report: `python -m tests.browser.pictures --out build/pictures`.

Every page at 1400 and 360 px, light, dark and as on paper. `--keep docs/images` also writes the few that the docs show,
with few colours.
"""

import argparse
import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page

from affidavit.knowledge import load_knowledge
from tests.browser.chromium import chromium
from tests.browser.console.filled import every_page, filled_console, visited
from tests.browser.pages import page_of, saved
from tests.browser.small_png import write_small
from tests.support.archives.bundles import analyze_at
from tests.support.pages.console import ServedConsole


@dataclass(frozen=True, kw_only=True)
class Sitting:
    """How a page is looked at. On paper `width` is that of A4 without its margins."""

    name: str
    width: int
    height: int
    scheme: str = "light"
    media: str = "screen"


SITTINGS: Final = (
    Sitting(name="1400", width=1400, height=900),
    Sitting(name="1400-dark", width=1400, height=900, scheme="dark"),
    Sitting(name="360", width=360, height=740),
    Sitting(name="360-dark", width=360, height=740, scheme="dark"),
    Sitting(name="print", width=703, height=994, media="print"),
)
# Every page once as on a desk and once as on a phone; some dark, some on paper.
_DARK: Final = ("incident", "log", "plan", "report-file")
_PAPER: Final = ("incident", "evidence", "plan", "report-file")


def main(out: Path, keep: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder, _furnished(Path(folder)) as console, chromium() as browser:
        addresses = {name: f"{console.base}{path}" for name, path in every_page(console).items()}
        addresses["report-file"] = _report(Path(folder))
        empty = browser.new_page()
        for sitting in SITTINGS:
            for name, page in _looked_at(browser, console, sitting, addresses):
                page.screenshot(path=out / f"{name}-{sitting.name}.png", full_page=True)
                if keep is not None and _is_kept(name, sitting):
                    write_small(page.screenshot(), keep / f"{name}-{sitting.name}.png", empty)


def _is_kept(name: str, sitting: Sitting) -> bool:
    some = {"1400-dark": _DARK, "360-dark": (), "print": _PAPER}
    return name in some.get(sitting.name, (name,))


def _looked_at(
    browser: Browser, console: ServedConsole, sitting: Sitting, addresses: dict[str, str]
) -> Iterator[tuple[str, Page]]:
    size = {"width": sitting.width, "height": sitting.height}
    context = visited(browser, console, viewport=size, color_scheme=sitting.scheme)
    page = context.new_page()
    page.emulate_media(media=sitting.media)
    for name, address in addresses.items():
        page.goto(address)
        if sitting.media == "print":
            page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        yield name, page
    context.close()


@contextmanager
def _furnished(folder: Path) -> Generator[ServedConsole]:
    """More than tests need: a second diagnosis, one without a cause, and one that is investigated while one looks."""
    gate = threading.Semaphore(1)
    with filled_console(folder) as console:
        console.concluded("network-egress-removed")
        console.concluded("unreadable-logs-reserved-zero")
        working = threading.Thread(target=console.concluded, args=("out-of-memory-killed", gate.acquire))
        working.start()
        yield console
        gate.release(50)
        working.join(30)


def _report(folder: Path) -> str:
    """The report of the bundle that the console was given, as a file of its own."""
    knowledge = load_knowledge()
    return saved(page_of(analyze_at(next(folder.glob("*.tar.gz")), knowledge, folder / "work"), knowledge), folder)


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--out", type=Path, default=Path("build/pictures"))
    asked.add_argument("--keep", type=Path)
    given = asked.parse_args()
    for place in (given.out, given.keep):
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
    main(given.out, given.keep)
