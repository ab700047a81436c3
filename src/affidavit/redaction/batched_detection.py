"""Ask a detector about all texts of an answer in as few questions as they fit into, and remember what it said.

One answer holds hundreds of short texts; a question for each would take minutes and cost a unit apiece.
"""

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from affidavit.errors import AffidavitError
from affidavit.redaction.personal_data_detector import Entity, PersonalDetector, detect_in_pieces

# Two line ends: the service takes the texts for paragraphs, not for one sentence.
_BETWEEN = "\n\n"
_REMEMBERED = 16_384
_SHORT = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What is in a text; or why nobody knows."""

    entities: tuple[Entity, ...] = ()
    failure: AffidavitError | None = None


class PersonalDataInquiry:
    """Safe to share between threads. Failures are not remembered."""

    def __init__(self, detector: PersonalDetector) -> None:
        self._detector = detector
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Reply] = OrderedDict()

    def ask(self, texts: Iterable[str]) -> Mapping[str, Reply]:
        """A reply for each text. A question that fails withholds its own texts and no others."""
        wanted = list(dict.fromkeys(texts))
        replies = self._recalled(wanted)
        for pack in _packs([text for text in wanted if text not in replies], self._detector.most_bytes):
            replies |= self._answered(pack)
        return replies

    def _answered(self, pack: Sequence[str]) -> dict[str, Reply]:
        try:
            found = detect_in_pieces(self._detector, _BETWEEN.join(pack))
        except AffidavitError as error:
            return dict.fromkeys(pack, Reply(failure=error))
        replies = {text: Reply(entities=tuple(own)) for text, own in zip(pack, _shared_out(found, pack), strict=True)}
        self._remember(replies)
        return replies

    def _recalled(self, texts: Sequence[str]) -> dict[str, Reply]:
        with self._lock:
            known = {text: self._known[text] for text in texts if text in self._known}
            for text in known:
                self._known.move_to_end(text)
            return known | dict.fromkeys((text for text in texts if not text.strip()), Reply())

    def _remember(self, replies: Mapping[str, Reply]) -> None:
        with self._lock:
            self._known.update((text, reply) for text, reply in replies.items() if len(text) <= _SHORT)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


def _packs(texts: Sequence[str], most_bytes: int) -> Iterator[list[str]]:
    """Texts that fit into one question together; one that is too long is alone, and goes in pieces."""
    pack: list[str] = []
    size = 0
    for text in texts:
        own = len(text.encode("utf-8", "surrogatepass")) + len(_BETWEEN)
        if pack and size + own > most_bytes:
            yield pack
            pack, size = [], 0
        pack.append(text)
        size += own
    if pack:
        yield pack


def _shared_out(entities: Sequence[Entity], pack: Sequence[str]) -> list[list[Entity]]:
    """Each text's part of every entity, counted from where that text begins."""
    starts = list(accumulate((len(text) + len(_BETWEEN) for text in pack[:-1]), initial=0))
    shares: list[list[Entity]] = [[] for _ in pack]
    for entity in entities:
        first, last = bisect_right(starts, entity.start) - 1, bisect_left(starts, entity.end)
        for number in range(max(0, first), last):
            start, end = max(0, entity.start - starts[number]), min(len(pack[number]), entity.end - starts[number])
            if start < end:
                shares[number].append(Entity(start=start, end=end, type=entity.type))
    return shares
