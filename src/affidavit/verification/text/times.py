"""Holds times in sentences to the recorded ones, and the order of events to the order of their times."""

import re
from collections.abc import Iterator

from affidavit.verification.text.recorded_answers import Answers
from affidavit.verification.text.text_problem import WordFinding

_CLOCK = re.compile(r"(?<![\w:./-])(\d{1,2}):(\d{2})(?::(\d{2}))?(?![\w:]|\.\d)")
_DATE = re.compile(r"(?<!\w)(\d{4}-\d{2}-\d{2})(?!\d)")
# Times that name no moment: nobody can look them up.
_LOOSE = re.compile(
    r"(?i)\b(yesterday|today|tonight|last (?:night|week|month|year|evening|weekend|\w+day)|"
    r"(?:a|an|one|two|three|several|many|\d+) (?:days?|weeks?|months?|years?) (?:ago|before|earlier|after|later|now)|"
    r"for (?:days|weeks|months|years)|since (?:mon|tues|wednes|thurs|fri|satur|sun)day|the day before|"
    r"all along|all the time|always|(?:larger|smaller|bigger|higher|slower|faster|longer|shorter) than"
    r"(?: the| it| before| usual| its| any)(?! \d))\b"
)


def time_findings(text: str, answers: Answers) -> Iterator[WordFinding]:
    for found in _CLOCK.finditer(text):
        clock = f"{int(found[1]):02d}:{found[2]}"
        if clock not in answers.clock_times:
            yield WordFinding(says=f"nothing was recorded at {found.group()}", is_refused=True)
    for found in _DATE.finditer(text):
        if not any(f"{moment:%Y-%m-%d}" == found[1] for moment in answers.moments):
            yield WordFinding(says=f"nothing was recorded on {found.group()}", is_refused=True)
    for found in _LOOSE.finditer(text):
        yield WordFinding(says=f"{found.group()!r} names no recorded time", is_refused=False)
