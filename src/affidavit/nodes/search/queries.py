"""A search pattern from a caller: what RE2 takes, and nothing that could run long.

RE2 on the bytes of one line, without its line end, decides what matches. Hyperscan scans many lines at once where it
can be trusted to find the same ones.
"""

import re
from functools import lru_cache
from typing import Any

import re2

from affidavit.errors import InputRefused
from affidavit.matching.pattern_language import Wordings, block_form, byte_options
from affidavit.nodes.search.longest_required_text import needle_database, needle_of

# Of memory for the compiled form; a query that needs more is no query a person wrote.
_MOST_MEMORY = 8 << 20
# Steps of the compiled form; each byte may cost one look at each of them.
_LARGEST = 20_000
# Beyond this many, Hyperscan may compile for seconds.
_LARGEST_DATABASE = 4000
# What a database reports.
MATCH, RETURN = 0, 1
_HINT = "patterns are RE2, matched on one line: no backreferences, no look-around; (?i) in front ignores case"
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|.", re.DOTALL)
_UNSUPPORTED = (
    (re.compile(r"\(\?(?:[=!]|<[=!])"), "look-around cannot be matched in linear time"),
    (re.compile(r"\(\?P=|\\k[<{']|\\g[<{\d]"), "backreferences cannot be matched in linear time"),
    (re.compile(r"\(\?[a-zA-Z]*-[a-zA-Z]*m"), "the flag m cannot be switched off: ^ and $ are the ends of the line"),
)


class Query:
    """`database` is None when only RE2 can be asked. `needles` finds lines that may match, None: any may.

    `may_take_returns`: a carriage return may be part of a match, so the engine, which sees the one that belongs to the
    line end, is not believed without asking RE2.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        pattern = _bytes_pattern(text)
        _refuse_unsupported(text)
        self._line = _compiled(text, pattern, is_block=False)
        _refuse_too_big(text, self._line.programsize)
        self._block = _compiled(text, _lines_form(pattern), is_block=True)
        # Where lines end in a carriage return, `$` stands before it: only RE2 on the bare line is asked there.
        self.sees_line_ends = bool({"$", r"\z"} & set(_TOKEN.findall(pattern)))
        self.may_take_returns = self.sees_line_ends or any(map(_takes_return, _TOKEN.findall(pattern)))
        is_small = self._line.programsize <= _LARGEST_DATABASE
        self.database = _database(pattern, sees_line_ends=self.sees_line_ends) if is_small else None
        self.needles = needle_database(needle_of(pattern))

    def matches(self, line: bytes) -> bool:
        return self._line.search(line) is not None

    def next_match(self, block: bytes, at: int) -> int | None:
        """A byte inside the next line at or after `at` that may match, or the line feed that ends it."""
        found = self._block.search(block, at)
        return None if found is None else found.start()


@lru_cache(maxsize=256)
def compile_query(text: str) -> Query:
    """Raises InputRefused saying why a pattern cannot be used."""
    return Query(text)


def _refuse_unsupported(text: str) -> None:
    for shape, why in _UNSUPPORTED:
        if shape.search(text):
            raise InputRefused(f"query {_shown(text)}: {why}", hint=_HINT)
    for token in _TOKEN.findall(text):
        if re.fullmatch(r"\\[1-9]", token):
            raise InputRefused(f"query {_shown(text)}: backreferences cannot be matched in linear time", hint=_HINT)
        if token == r"\n":
            raise InputRefused(f"query {_shown(text)}: \\n never matches, a query sees one line", hint=_HINT)


def _refuse_too_big(text: str, steps: int) -> None:
    if steps > _LARGEST:
        raise InputRefused(
            f"query {_shown(text)} is too big: it compiles to {steps} steps, of {_LARGEST} at most",
            hint="use smaller repetitions, or make several searches of it",
        )


def _bytes_pattern(text: str) -> str:
    """Other characters than ASCII as the bytes they are stored as."""
    return "".join(token if token.isascii() else _encoded(text, token) for token in _TOKEN.findall(text))


def _encoded(text: str, token: str) -> str:
    if len(token) > 1:
        raise InputRefused(
            f"query {_shown(text)}: {token} holds a character that is stored as several bytes",
            hint="write (?:é|è) instead of [éè]",
        )
    try:
        # Ignoring case would treat each byte as a letter of Latin-1.
        return "(?-i:" + "".join(f"\\x{byte:02x}" for byte in token.encode()) + ")"
    except UnicodeEncodeError as error:
        raise InputRefused("query holds half a character", hint="send it as UTF-8") from error


def _lines_form(pattern: str) -> str:
    """For many lines at once."""
    replaced = {r"\z": "$", r"\A": "^"}
    tokens: list[str] = _TOKEN.findall(pattern)
    return "(?m:" + "".join(replaced.get(token, token) for token in tokens) + ")"


def _compiled(text: str, pattern: str, *, is_block: bool) -> Any:
    options = byte_options()
    options.max_mem = _MOST_MEMORY
    options.never_nl = is_block
    try:
        return re2.compile(pattern.encode("ascii"), options)
    except re2.error as error:
        detail: object = error.args[0] if error.args else error
        said = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise InputRefused(f"query {_shown(text)}: {said}", hint=_HINT) from error


def _database(pattern: str, *, sees_line_ends: bool) -> Any:
    """None where Hyperscan is missing, refuses the pattern, or would not mean the same by it.

    Where line ends matter, a carriage return in front of one is reported, once, as RETURN.
    """
    # Of bytes that are no ASCII, RE2 ignores the case of Latin-1 and Hyperscan does not.
    if re.search(r"\(\?[a-z]*i", pattern) and r"\x" in pattern:
        return None
    try:
        import hyperscan
    except ImportError:
        return None
    if _may_be_empty(pattern):
        return None
    try:
        Wordings([pattern])
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        expressions, flags = [_plain_ends(pattern)], [hyperscan.HS_FLAG_MULTILINE]
        if sees_line_ends:
            expressions, flags = [*expressions, rb"\r\n"], [*flags, hyperscan.HS_FLAG_SINGLEMATCH]
        ids = [MATCH, RETURN][: len(expressions)]
        database.compile(expressions=expressions, ids=ids, elements=len(ids), flags=flags)
    except (InputRefused, re2.error, hyperscan.HyperscanError):
        return None
    return database


def _takes_return(token: str) -> bool:
    """Yes where it takes more than one token to tell, as for a code in digits."""
    if len(token) == 1:
        return token in ".\r"
    if token.startswith("[^") or token[1].isdigit():
        return True
    try:
        return re2.compile(token.encode("ascii"), byte_options()).search(b"\r") is not None
    except re2.error:
        return True


def _may_be_empty(pattern: str) -> bool:
    """Whether a match may be a mere place between bytes, which the engine reports on the line before."""
    bare = "".join(token for token in _TOKEN.findall(pattern) if token not in ("^", "$", r"\b", r"\B"))
    try:
        return re2.compile(bare.encode("ascii"), byte_options()).search(b"") is not None
    except re2.error:
        return True


def _plain_ends(pattern: str) -> bytes:
    return block_form(pattern).replace(r"\r?$", "$").encode()


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
