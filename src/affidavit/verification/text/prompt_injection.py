"""Recognises text that gives orders to whoever reads it: a log line that tells a chat model what to do."""

from functools import lru_cache
from pathlib import Path

from affidavit.verification.text.word_patterns import first_match, word_patterns

_FILE = Path(__file__).parent / "orders.yaml"


# A log says the same many times over, and its answer is judged more than once.
@lru_cache(maxsize=4096)
def gives_orders(text: str) -> bool:
    return next(first_match(text, word_patterns(_FILE, "orders")), None) is not None


def refuses_orders(text: str) -> bool:
    """Whether a sentence tells of an order without following it: it was ignored, it goes to security."""
    return next(first_match(text, word_patterns(_FILE, "refusals")), None) is not None
