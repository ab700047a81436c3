"""Detects personal data with Amazon Comprehend.

DetectPiiEntities says where something is; ContainsPiiEntities only that it is somewhere, which hides nothing.
"""

from collections.abc import Sequence
from typing import Any, Final

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import UpstreamFailed
from affidavit.redaction.personal_data_detector import Entity

# The service takes 100 KB, and does not say whether a kilobyte has 1000 or 1024 bytes.
MOST_BYTES: Final = 99_000
# Every line of a log has a time; hiding it would take the evidence with it, and it is nobody's.
_KEPT: Final = frozenset({"DATE_TIME"})
# `[REDACTED:ip]` for what the local detectors call so, too.
_OURS: Final = {"IP_ADDRESS": "ip", "USERNAME": "user_name", "SSN": "social_security_number"}


class ComprehendDetector:
    """`language` is one that Comprehend finds personal data in. Logs of machines are English for the most part."""

    def __init__(self, clients: AwsClients, *, language: str = "en") -> None:
        self._clients, self._language = clients, language

    @property
    def most_bytes(self) -> int:
        return MOST_BYTES

    def find(self, text: str) -> Sequence[Entity]:
        """Offsets count code points, as Python does. Whatever the score: what may be personal is hidden."""
        with translated("personal data, asked of Amazon Comprehend"):
            client = self._clients.client("comprehend")
            answer = client.detect_pii_entities(Text=text, LanguageCode=self._language)
        return [_entity(each, len(text)) for each in _listed(answer) if each.get("Type") not in _KEPT]


def _listed(answer: Any) -> list[dict[str, Any]]:
    if not isinstance(answer.get("Entities"), list):
        raise _unusable("no list of entities")
    return answer["Entities"]


def _entity(found: dict[str, Any], length: int) -> Entity:
    """An offset outside the text means that we do not understand the answer: then nothing of it is used."""
    start, end, kind = found.get("BeginOffset"), found.get("EndOffset"), found.get("Type")
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(kind, str) and 0 <= start < end <= length):
        raise _unusable(f"an entity from {start} to {end} in a text of {length} characters")
    return Entity(start=start, end=end, type=_OURS.get(kind, kind.lower()))


def _unusable(why: str) -> UpstreamFailed:
    return UpstreamFailed(
        f"personal data, asked of Amazon Comprehend: the answer has {why}",
        hint="unset ENABLE_COMPREHEND to use the local detectors alone",
    )
