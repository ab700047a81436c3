from pathlib import Path

import pytest
from tests.support.incidents import Bench, a_bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return a_bench(tmp_path)
