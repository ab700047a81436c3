"""botocore's descriptions of services, loaded in half the time. A function that starts cold pays for each.

botocore looks into each of its 400 folders to know which services there are, and builds ordered dictionaries although
Python's own have kept their order since 3.7.
"""
# botocore ships no types for this part.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from botocore.loaders import JSONFileLoader, Loader
from botocore.session import Session


def quick_session() -> Any:
    """A session of botocore's, with everything else as it is by default."""
    session: Any = Session()
    session.register_component("data_loader", _loader(tuple(session.get_component("data_loader").search_paths)))
    return session


@cache
def _loader(search_paths: tuple[str, ...]) -> "_QuickLoader":
    """One for all sessions: each repair has credentials, so a session, of its own, and none changes a description."""
    return _QuickLoader(list(search_paths))


class _QuickLoader(Loader):
    def __init__(self, search_paths: list[str]) -> None:
        super().__init__(search_paths, file_loader=_PlainFiles(), include_default_search_paths=False)
        self._folders = [Path(path) for path in search_paths]

    def list_available_services(self, type_name: str) -> list[str]:
        """Lists each folder once. A service without this kind of description fails when it is loaded."""
        return sorted({entry.name for folder in self._folders if folder.is_dir() for entry in folder.iterdir()})


class _PlainFiles(JSONFileLoader):
    def load_file(self, file_path: str) -> Any:
        """None when there is no such file, in either form."""
        plain, packed = Path(f"{file_path}.json"), Path(f"{file_path}.json.gz")
        if plain.is_file():
            return json.loads(plain.read_bytes())
        return json.loads(gzip.decompress(packed.read_bytes())) if packed.is_file() else None
