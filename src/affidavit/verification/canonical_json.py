"""One text for one JSON value, so that equality and digests do not depend on who wrote it down."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from affidavit.errors import InputRefused
from affidavit.ports.json import JsonValue


def canonical(value: JsonValue) -> str:
    """Keys sorted, no spaces, ASCII only; `1.0` and `1` are the same number, `true` and `1` are not."""
    try:
        return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise InputRefused(f"this is not JSON: {error}", hint="a number must be finite") from error
    except RecursionError as error:
        raise InputRefused("this is nested too deeply", hint="a few hundred levels can be read") from error


def digest(value: JsonValue) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(inner) for inner in value]
    return value
