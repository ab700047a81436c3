"""One browser and one filled console for all tests of this folder, and a page that must stay without trouble."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.chromium import chromium
from tests.browser.console.filled import filled_console, visited, watched
from tests.support.investigations.diagnoses import a_diagnosis, a_pointer
from tests.support.investigations.incidents import MESSAGE
from tests.support.pages.console import ServedConsole
from tests.support.pages.hostile_text import hostile_texts


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedConsole]:
    """With an incident whose every text is hostile."""
    with filled_console(tmp_path_factory.mktemp("console")) as console:
        texts = hostile_texts()
        pointers = [a_pointer("get_recent_logs", "/events/0/message", MESSAGE, text[:4000]) for text in texts[:100]]
        diagnosis = a_diagnosis(*pointers).model_copy(update={"gaps": tuple(texts[100:200]), "root_cause": texts[0]})
        console.rewritten(console.investigated(name="hostile", message=texts[1], error_type="Other"), diagnosis)
        yield console


@pytest.fixture
def page(browser: Browser, console: ServedConsole) -> Iterator[Page]:
    yield from watched(visited(browser, console), console)
