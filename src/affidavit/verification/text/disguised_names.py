"""Finds a name in other spellings: capitals, hyphens, `hxxps`, `evil[.]example`, invisible characters.

A chat model that was talked into naming something may be talked into spelling it differently, too.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+=*-]*[A-Za-z0-9*]")
# A plain word, number or time is nobody's identifier.
_PLAIN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z?")
_ACTION = re.compile(r"[a-z0-9-]+:[A-Z][A-Za-z*]+")
_ACCOUNT = re.compile(r"[0-9]{12}")
# Parts that mean something alone: a host, a role, a function.
_BORDERS = re.compile(r"[/@:?=]+")
_DEFANGED = re.compile(r"\s*[\[({]?\s*(?:\bdot\b)\s*[\])}]?\s*", re.IGNORECASE)
_OPAQUE = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9+=]{24,}")
SHORTEST_CORE = 8


def squeezed(text: str) -> str:
    """Letters and digits alone, in lower case; lines stay apart."""
    lines = unicodedata.normalize("NFKC", text).casefold().splitlines()
    return "\n".join("".join(char for char in line if char.isalnum()) for line in lines)


def is_opaque(token: str) -> bool:
    """Encoded, most likely: nobody can see what it says."""
    return _OPAQUE.fullmatch(token) is not None


def cores_of(heard: str, is_known: Callable[[str], bool]) -> dict[str, str]:
    """The unknown names in a text, by what is left of them in any dress."""
    return {
        squeezed(name): name
        for token in dict.fromkeys(_TOKEN.findall(heard))
        for name in (token, *_BORDERS.split(token))
        if _is_name(name) and not is_known(name)
    }


def names_hidden_in(text: str, names: Mapping[str, str]) -> Iterator[str]:
    """Those of `names`, by their cores, that the text holds, however they are spelt there."""
    whole = squeezed(_DEFANGED.sub(".", text).replace("\n", " "))
    words = {squeezed(one) for one in _candidates(text)}
    for core, name in names.items():
        # Nothing but letters and hyphens: apart they may be common words, so only one word, or two names, count.
        is_distinctive = re.search(r"[0-9._/:@]", name) is not None
        if core in words or (is_distinctive and core in whole):
            yield name


def _is_name(token: str) -> bool:
    if _ACCOUNT.fullmatch(token):
        return True
    is_plain = _PLAIN.fullmatch(token) or _ACTION.fullmatch(token)
    return not is_plain and len(squeezed(token)) >= SHORTEST_CORE


def _candidates(text: str) -> Iterator[str]:
    words = [word for word in re.split(r"[\s,;()\"'`]+", text) if word]
    yield from (word.strip(".") for word in words)
    yield from (f"{one}{two}" for one, two in pairwise(words) if one[0].isupper() and two[0].isupper())
