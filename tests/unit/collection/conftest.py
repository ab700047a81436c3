from pathlib import Path

import pytest
from tests.support.fleet import Fleet


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)
