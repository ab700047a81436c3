"""Which function finds what. Each takes a text and yields where its secrets stand; all take linear time.

Those of `PLACED` are also told where the matches of their pattern end; nothing stands for "anywhere".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from affidavit.redaction.finders.csv_column import secret_columns
from affidavit.redaction.finders.kubernetes_secret import secret_values
from affidavit.redaction.finders.private_key import key_material
from affidavit.redaction.pattern import Finder

Place: TypeAlias = tuple[int, int]

FINDERS: Mapping[Finder, Callable[[bytes, Sequence[int]], Iterator[Place]]] = {
    Finder.PRIVATE_KEY: key_material,
    Finder.KUBERNETES_SECRET: lambda text, _: secret_values(text),
    Finder.CSV_COLUMN: lambda text, _: secret_columns(text),
}
PLACED = frozenset({Finder.PRIVATE_KEY})
