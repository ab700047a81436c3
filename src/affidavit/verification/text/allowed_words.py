"""Words that a diagnosis may use without evidence, because they name no thing of the account."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from affidavit.workloads import wire
from affidavit.yaml_loading import load_yaml

_FILE = Path(__file__).parent / "vocabulary.yaml"


def is_our_word(name: str) -> bool:
    return name.casefold() in _words()


def is_call(name: str) -> bool:
    """An API call such as `PutRolePolicy`: a step may name one that nobody made yet."""
    return re.search(_data()["calls"], name) is not None


def is_compound(word: str) -> bool:
    """An ordinary English compound such as `third-party`; every other hyphenated word is a name."""
    parts = word.casefold().split("-")
    is_plain = all(part.isalpha() for part in parts)
    return is_plain and (parts[0] in _set("prefixes") or parts[-1] in _set("suffixes"))


@cache
def _words() -> frozenset[str]:
    listed = (word for group in ("services", "tools", "settings", "words", "codes") for word in _set(group))
    return frozenset((*listed, *_field_names()))


def _field_names() -> set[str]:
    """Names of settings and fields that tool answers have."""
    shapes = (shape for shape in vars(wire).values() if isinstance(shape, type))
    fields = (getattr(shape, "model_fields", {}) for shape in shapes)
    return {name.casefold() for names in fields for name in names}


@cache
def _set(group: str) -> frozenset[str]:
    return frozenset(_data()[group].casefold().split())


@cache
def _data() -> Mapping[str, str]:
    return load_yaml(_FILE.read_text())
