"""The first page waits for no count: what it does not know yet, it says."""

import threading
from pathlib import Path

from tests.support.pages.console import served

from affidavit.entrypoints.console.critical_node_counts import NodeCounts
from affidavit.nodes.library.indexed_bundles import Library


def test_the_first_page_is_there_before_the_nodes_are_counted_and_says_so(tmp_path: Path) -> None:
    loaded = threading.Event()
    with served(tmp_path) as console:

        def slowly() -> Library:
            loaded.wait(30)
            return console.desk.library

        console.desk.__dict__["node_counts"] = counts = NodeCounts(slowly, is_long_lived=True)
        client = console.browser()
        assert "still counting" in client.get("/").text
        loaded.set()
        while not counts.totals().is_complete:
            pass
        assert "none has a bundle here" in client.get("/").text
