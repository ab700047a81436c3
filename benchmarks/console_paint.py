"""When a real Chromium first paints each page of the console, and how a report of 10,000 findings answers a hand.

These are times of a clock: whatever else the machine does makes them longer, so each is an upper bound.
"""

import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page
from tests.browser.chromium import CHROMIUM, chromium
from tests.browser.console.filled import visited
from tests.browser.pages import multiplied, page_of, saved
from tests.support.archives.bundles import analyze_at
from tests.support.pages.console import served

from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.knowledge import load_knowledge
from benchmarks.bundles import DATA
from benchmarks.cases import Result
from benchmarks.console import FINDINGS, figure, filled, pages

MOST_MILLISECONDS: Final = 1000.0
_VISITS: Final = 9
_PAINTED: Final = """() => new Promise((done) => {
  const told = () => performance.getEntriesByName("first-contentful-paint")[0];
  const look = () => told() ? done(told().startTime) : requestAnimationFrame(look);
  look();
})"""
_FILTERED: Final = """() => new Promise((done) => {
  const field = document.getElementById("filter-text"), start = performance.now();
  field.value = "oom kernel";
  field.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
})"""
# Two screens a second for two seconds, as somebody who reads along.
_SCROLLED: Final = """() => new Promise((done) => {
  const frames = [];
  let before = performance.now();
  const step = (now) => {
    frames.push(now - before);
    before = now;
    window.scrollBy(0, 30);
    if (frames.length < 120) requestAnimationFrame(step); else done(frames.slice(1).sort((a, b) => a - b));
  };
  requestAnimationFrame(step);
})"""


def paint_times() -> Iterator[Result]:
    if CHROMIUM is None:
        raise RuntimeError("no Chromium on PATH; set AFFIDAVIT_CHROMIUM to its path")
    folder = DATA / "console-paint"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with chromium() as browser:
        yield from _pages(browser, folder)
        yield from _report(browser, folder)
    shutil.rmtree(folder, ignore_errors=True)


def _pages(browser: Browser, folder: Path) -> Iterator[Result]:
    """Of a console that was started a moment ago, as the command starts it."""
    bench = filled(folder)
    with served(folder / "data") as console:
        console.desk.prepare()
        while not console.desk.node_counts.totals().is_complete:
            time.sleep(0.1)
        page = visited(browser, console).new_page()
        for name, paths in pages(bench, _VISITS).items():
            times = [_painted(page, f"{console.base}{path}") for path in paths]
            yield figure(f"{name}, first paint, first visit", times[0], MOST_MILLISECONDS, "ms")
            yield figure(f"{name}, first paint, median", statistics.median(times), MOST_MILLISECONDS, "ms")


def _report(browser: Browser, folder: Path) -> Iterator[Result]:
    """The report as a file of its own, with the lines of every finding."""
    knowledge = load_knowledge()
    archive = write(generate(BundleSpec(layout=Layout.AL2, faults=("oom", "kernel_hang", "dns"))), folder, Form.TAR_GZ)
    many = multiplied(analyze_at(archive, knowledge, folder / "work"), FINDINGS)
    page, address = browser.new_page(viewport={"width": 1400, "height": 900}), saved(page_of(many, knowledge), folder)
    yield figure("report.html of 10,000 findings, first paint", _painted(page, address), MOST_MILLISECONDS, "ms")
    page.locator("#list > .finding").first.scroll_into_view_if_needed()
    frames = page.evaluate(_SCROLLED)
    yield figure("report.html, a frame while scrolling, median", statistics.median(frames), None, "ms")
    yield figure("report.html, a frame while scrolling, p95", frames[int(len(frames) * 0.95)], None, "ms")
    yield figure("report.html, from a filter to its paint", page.evaluate(_FILTERED), None, "ms")


def _painted(page: Page, address: str) -> float:
    page.goto(address)
    return float(page.evaluate(_PAINTED))
