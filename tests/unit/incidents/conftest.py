from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.investigations.incidents import Bench, a_bench, memory_folder


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return a_bench(tmp_path)


@pytest.fixture
def memory() -> Iterator[Path]:
    with memory_folder() as folder:
        yield folder
