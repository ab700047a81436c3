"""Holds numbers in sentences to the recorded ones: the same value in any unit, rounded; shares and pairs worked out."""

import re
from collections.abc import Iterator

from affidavit.verification.text.quantities import Dimension, Quantity, is_about, quantities
from affidavit.verification.text.recorded_answers import Answers, Number
from affidavit.verification.text.text_problem import WordFinding

# Below this a count may be counted off by the reader: two runs, three functions.
_SMALL = 12
_HEDGE = re.compile(
    r"(?i)\b(about|around|roughly|some|approximately|approx\.?|circa|ca\.?|nearly|almost|up to|more than|less than|"
    r"over|under|above|below|at least|at most|fewer than|within|far from|half|per|each|every)\W*$"
    r"|[~<>≈]\s*$"
)
# Words by which a sentence speaks of the time between two moments.
_SPANS = re.compile(
    r"(?i)\b(before|earlier|later|apart|window|between|ago|since|shortly|lasted|lasts|from .{1,20} to|over)\b"
)
_PER = re.compile(r"(?i)^\s*(\w+\s+)?(per|a|an|each|/)\s*(second|minute|hour|day|run|s\b|min\b)|^\s*(times|fold|x\b)")
_OF = re.compile(
    r"(?i)(\d[\d,]*)\s+(?:out\s+)?of\s+(?:the\s+|its\s+|all\s+)?(\d[\d,]*)"
    r"(?![\d.]*\s*(?:%|[kmg]?i?b\b|ms\b|s\b))(?!\.\d)"
)
_AMOUNT = r"(\d[\d,.]*\d|\d)(?:\s*([a-z%]+))?"
_FROM_TO = re.compile(rf"(?i)\bfrom\s+{_AMOUNT}\s+(?:down\s+|up\s+)?to\s+{_AMOUNT}")
_COUNTED = {name: re.compile(f"(?i)^{name}$") for name in ("invocations", "errors", "throttles")}
_FAILED = re.compile(
    r"(?i)(?<!of )(?<!of the )\b(?:all\s+)?(\d[\d,]*)\s+(?:of\s+(?:the|its)\s+)?"
    r"(?:invocations|runs|calls|requests|executions|attempts)\s+(?:\w+\s+){0,3}?"
    r"(?:failed|fail|denied|throttled|killed|errored|rejected|refused|crashed|timed out|ran out)\b"
)


def number_findings(text: str, answers: Answers) -> Iterator[WordFinding]:
    pairs = list(_OF.finditer(text))
    yield from _pairs(pairs, answers)
    yield from _directions(text, answers)
    yield from _failures(text, answers)
    for one in quantities(text):
        if not any(match.start() <= one.start < match.end() for match in pairs):
            yield from _one(one, text, answers, pairs)


def _one(one: Quantity, text: str, answers: Answers, pairs: list[re.Match[str]]) -> Iterator[WordFinding]:
    if _stands(one, answers) or (one.dimension is Dimension.SHARE and _is_share(one, answers, pairs)):
        return
    if one.dimension is Dimension.COUNT and (one.number <= _SMALL or _is_worked_out(one, answers)):
        return
    if one.dimension is Dimension.TIME and _SPANS.search(text) and _is_span(one, answers):
        return
    otherwise = _in_other_units(one, answers)
    if otherwise is not None:
        yield WordFinding(says=f"{one.text!r} is not what was recorded: {otherwise}", is_refused=True)
        return
    is_loose = _HEDGE.search(text[: one.start]) is not None or _PER.match(text[one.end :]) is not None
    yield WordFinding(says=f"{one.text!r} stands in no recorded answer", is_refused=not is_loose)


def _stands(one: Quantity, answers: Answers) -> bool:
    same = (number for number in answers.numbers if number.dimension is one.dimension)
    if one.dimension is Dimension.COUNT:
        return any(number.number == one.number for number in answers.numbers) or _has_digits(one, answers)
    return any(is_about(one, number.value) for number in same)


def _has_digits(one: Quantity, answers: Answers) -> bool:
    """Also inside a name, such as `1600` in `1600x1200`."""
    return re.search(rf"(?<![\d.,]){re.escape(one.text.replace(',', ''))}(?![\d,]|\.\d)", answers.corpus) is not None


def _in_other_units(one: Quantity, answers: Answers) -> str | None:
    """The same digits with another unit: what a slip of the unit looks like."""
    if one.dimension is Dimension.COUNT:
        return None
    for number in answers.numbers:
        is_same = abs(number.number - one.number) <= max(
            one.step / (one.value / one.number if one.number else 1), 0.005
        )
        if one.number and is_same and number.dimension in (Dimension.TIME, Dimension.SIZE):
            return f"{number.number:g} stands there with another unit"
    return None


def _is_worked_out(one: Quantity, answers: Answers) -> bool:
    """A sum or a difference of two counts of the metrics: the runs that did not fail."""
    counts = [number.number for number in answers.numbers if any(key.match(number.key) for key in _COUNTED.values())]
    return any(one.number in (a - b, a + b) for a in counts for b in counts)


def _is_span(one: Quantity, answers: Answers) -> bool:
    """The time between two recorded moments, or the length of a window."""
    moments = sorted(set(answers.moments))
    return any(
        abs((later - earlier).total_seconds() * 1000 - one.value) <= max(one.step, 0.02 * one.value)
        for place, earlier in enumerate(moments)
        for later in moments[place + 1 :]
    )


def _is_share(one: Quantity, answers: Answers, pairs: list[re.Match[str]]) -> bool:
    if pairs:
        given = [(_int(pair[1]), _int(pair[2])) for pair in pairs]
        return any(whole and abs(100 * part / whole - one.value) <= 1 for part, whole in given)
    counts = [number.number for number in answers.numbers if any(key.match(number.key) for key in _COUNTED.values())]
    return any(
        whole and abs(share - one.value) <= 1
        for part in counts
        for whole in counts
        for share in (100 * part / whole if whole else 0.0, 100 - 100 * part / whole if whole else 0.0)
    )


def _pairs(pairs: list[re.Match[str]], answers: Answers) -> Iterator[WordFinding]:
    """`31 of 48`: both numbers are recorded, the part is not more than the whole, and they belong together."""
    for pair in pairs:
        part, whole = _int(pair[1]), _int(pair[2])
        if part > whole:
            yield WordFinding(says=f"{pair.group()!r}: the part is more than the whole", is_refused=True)
        elif not (_is_recorded(part, answers) and _is_recorded(whole, answers)):
            yield WordFinding(says=f"{pair.group()!r} stands in no recorded answer", is_refused=whole > _SMALL)


def _is_recorded(number: int, answers: Answers) -> bool:
    whole = Quantity(text=str(number), number=number, value=number, dimension=Dimension.COUNT, step=0.5, start=0, end=0)
    return any(one.number == number for one in answers.numbers) or _is_worked_out(whole, answers)


def _directions(text: str, answers: Answers) -> Iterator[WordFinding]:
    """`from 2048 to 512`: a recorded change went that way."""
    changes = list(_changes(answers.numbers))
    for found in _FROM_TO.finditer(text):
        was, now = _float(found[1]), _float(found[3])
        if found[2] is None and found[4] is None and not changes:
            continue
        if any(_is_same_ratio(now, was, *change) for change in changes):
            yield WordFinding(says=f"{found.group()!r}: the recorded change went the other way", is_refused=True)


def _changes(numbers: tuple[Number, ...]) -> Iterator[tuple[float, float]]:
    """Previous and new value of one setting, by the names of their fields."""
    by_key = {number.key.casefold(): number.number for number in numbers if number.key}
    for key, value in by_key.items():
        for prefix in ("previous", "old", "from"):
            new = by_key.get(key.removeprefix(prefix)) if key.startswith(prefix) else None
            if new is not None and new != value:
                yield value, new


def _is_same_ratio(was: float, now: float, before: float, after: float) -> bool:
    if (was, now) == (before, after):
        return True
    return bool(was and now and before and after) and abs(was / now - before / after) < 0.03 * before / after


def _failures(text: str, answers: Answers) -> Iterator[WordFinding]:
    """`all 48 invocations failed`: a number of failed runs is one of the recorded numbers of failures."""
    metrics = {name: {n.number for n in answers.numbers if key.match(n.key)} for name, key in _COUNTED.items()}
    for found in _FAILED.finditer(text):
        number, failed = _int(found[1]), metrics["errors"] | metrics["throttles"]
        if number in metrics["invocations"] and failed and number not in failed:
            yield WordFinding(
                says=f"{found.group()!r}: that is the number of all runs, not of failed ones", is_refused=True
            )


def _int(text: str) -> int:
    return int(text.replace(",", ""))


def _float(text: str) -> float:
    return float(text.replace(",", "").rstrip(".") or 0)
