"""Opens a DuckDB in memory that loads no extensions from the internet."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from affidavit.errors import InputRefused

if TYPE_CHECKING:
    import duckdb


@contextmanager
def connect(*, threads: int | None = None) -> "Generator[duckdb.DuckDBPyConnection]":
    try:
        import duckdb
    except ImportError as error:
        raise InputRefused("fleet questions need DuckDB", hint="pip install 'affidavit[fleet]'") from error
    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if threads is not None:
        settings["threads"] = threads
    connection = duckdb.connect(":memory:", config=settings)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def sql_errors() -> Generator[None]:
    """Turns DuckDB's errors about a question into InputRefused: an unknown column is the caller's mistake."""
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.InternalException, duckdb.OutOfMemoryException):
        raise
    except duckdb.Error as error:
        said = str(error).partition("\n")[0]
        raise InputRefused(f"the question cannot be asked: {said}", hint="docs/fleet.md lists the columns") from error
