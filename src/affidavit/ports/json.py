"""JSON values and items, as ports pass them around."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
Item: TypeAlias = Mapping[str, JsonValue]
