from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.pages.console import ServedConsole, served


@pytest.fixture
def console(tmp_path: Path) -> Iterator[ServedConsole]:
    with served(tmp_path) as console:
        yield console
