"""Caches needles between runs: finding those of all rules takes half a second. The wheel carries them."""

import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from affidavit.matching.disk_cache import keep, read_kept
from affidavit.matching.looser_patterns import looser
from affidavit.matching.needles import Needles, needles_of
from affidavit.matching.pattern_language import block_form

NEEDLES = "needles"
_MOST = 64
_MADE_FROM = ("looser_patterns.py", "needles.py", "regex_tree.py", "usual_text.txt")


def kept_needles(patterns: Iterable[str]) -> Needles | None:
    """None where no earlier run left them."""
    kept = read_kept(NEEDLES, _name_of(patterns))
    if kept is None:
        return None
    document = json.loads(kept)
    return Needles(texts=tuple(document["texts"]), others=tuple(document["others"]))


def made_needles(patterns: Iterable[str]) -> Needles:
    """The kept ones, else new ones that are kept."""
    wanted = sorted(set(patterns))
    if (kept := kept_needles(wanted)) is not None:
        return kept
    made = needles_of(wanted)
    document = json.dumps({"texts": made.texts, "others": made.others})
    keep(NEEDLES, _name_of(wanted), document.encode(), most=_MOST)
    return made


def expressions_of(needles: Needles) -> list[str]:
    """Patterns of which one matches wherever a needle is, for an engine that sees many lines at once."""
    others = dict.fromkeys(block_form(form) for pattern in needles.others for form in looser(pattern))
    return [*map(re.escape, needles.texts), *others]


@cache
def maker() -> bytes:
    """Stands for the code and text that needles come from: what another version chose is not read."""
    here = files("affidavit.matching")
    return hashlib.sha256(b"".join(here.joinpath(name).read_bytes() for name in _MADE_FROM)).digest()


def _name_of(patterns: Iterable[str]) -> str:
    return hashlib.sha256(repr((maker(), sorted(set(patterns)))).encode()).hexdigest()[:32]
