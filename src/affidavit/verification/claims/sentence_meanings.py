"""The meanings that a sentence about a value can have, by its words."""

from pathlib import Path

from affidavit.verification.text.word_patterns import first_match, word_patterns

_FILE = Path(__file__).parent / "words.yaml"


def says(meaning: str, text: str) -> bool:
    return next(first_match(text, word_patterns(_FILE, meaning)), None) is not None
