import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.errors import UpstreamFailed
from affidavit.redaction.answer import WITHHELD, redact_answer
from affidavit.redaction.batched_detection import PersonalDataInquiry
from affidavit.redaction.pattern import PatternKind
from affidavit.redaction.pattern_loading import load_patterns
from affidavit.redaction.personal_data_detector import OVERLAP, Entity, pieces
from affidavit.redaction.redact import Redactor
from affidavit.redaction.redacted_quote_check import stands_in

KEY = "AKIAIOSFODNN7EXAMPLE"
PLANTED = [sample.whole for pattern in load_patterns()[PatternKind.SECRET] for sample in pattern.samples.hidden]
texts = st.lists(st.one_of(st.text(max_size=30), st.sampled_from([*PLANTED, "ä€😀", "\r\n", "\n", "\x00"])), max_size=8)


@dataclass
class Names:
    """A detector that knows one name and takes little text at a time."""

    name: str
    most_bytes: int = 2_100
    is_down: bool = False
    asked: list[str] = field(default_factory=list)

    def find(self, text: str) -> Sequence[Entity]:
        self.asked.append(text)
        assert len(text.encode()) <= self.most_bytes
        if self.is_down:
            raise UpstreamFailed("the detector does not answer")
        found = re.finditer(re.escape(self.name), text)
        return [Entity(start=match.start(), end=match.end(), type="name") for match in found]


def personal(detector: Names) -> Redactor:
    return Redactor(hides_personal=True, inquiry=PersonalDataInquiry(detector))


def test_threads_redact_at_once() -> None:
    text = f"nothing here {KEY} " * 5_000
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _number: Redactor().redact(text), range(40)))
    assert all(KEY not in redacted.text for redacted in found)


def test_what_was_hidden_is_counted_by_type() -> None:
    redacted = Redactor().redact(f"{KEY} then {KEY} and db_password=hunter2x")
    assert (
        redacted.text == "[REDACTED:aws_access_key] then [REDACTED:aws_access_key] and db_password=[REDACTED:password]"
    )
    assert redacted.counts == {"aws_access_key": 2, "password": 1}


def test_patterns_that_find_the_same_bytes_hide_them_once() -> None:
    redacted = Redactor().redact("postgres://app:hunter2@db/x")
    assert redacted.text.count("REDACTED") == 1
    assert sum(redacted.counts.values()) == 1


@given(texts)
def test_every_line_keeps_its_number(parts: list[str]) -> None:
    text = "".join(parts)
    assert Redactor(hides_personal=True).redact(text).text.count("\n") == text.count("\n")


@given(texts)
def test_redacting_twice_changes_nothing_more(parts: list[str]) -> None:
    once = Redactor().redact("\n".join(parts)).text
    assert Redactor().redact(once).text == once


def test_a_long_text_is_redacted_to_its_end_and_not_cut() -> None:
    line = "Jan 01 kubelet: nothing to hide here\n"
    text = line * 200_000 + KEY
    redacted = Redactor().redact(text).text
    assert redacted == line * 200_000 + "[REDACTED:aws_access_key]"


def test_a_secret_longer_than_any_piece_goes_whole() -> None:
    assert Redactor().redact("password=" + "x1" * 2_000_000).text == "password=[REDACTED:password]"


def test_text_that_is_no_valid_unicode_survives() -> None:
    assert Redactor().redact("\ud800 " + KEY).text == "\ud800 [REDACTED:aws_access_key]"


@pytest.mark.parametrize("before", [0, 990, 1_045, 1_050, 1_744 - 5, 5_000])
@pytest.mark.parametrize("filler", ["ä", "😀", "ä\n", "z"])
def test_a_name_across_the_seam_of_two_pieces_is_found(before: int, filler: str) -> None:
    text = filler * before + " Jane Doe " + "z" * 3_000
    redacted = personal(Names("Jane Doe")).redact(text)
    assert redacted.text == text.replace("Jane Doe", "[REDACTED:name]")


@given(st.text(max_size=4_000), st.integers(OVERLAP * 8, OVERLAP * 9))
def test_pieces_cover_the_text_and_fit(text: str, size: int) -> None:
    covered = 0
    for at, piece in pieces(text, size):
        assert text[at : at + len(piece)] == piece
        assert len(piece.encode()) <= size
        assert at <= covered < at + len(piece)
        assert at == 0 or text[at - 1] == "\n" or covered - at == OVERLAP
        covered = at + len(piece)
    assert covered == len(text)


def test_a_piece_ends_at_a_line_end_where_there_is_one() -> None:
    found = list(pieces("one line of a log, as they are\n" * 500, 2_100))
    assert len(found) > 5
    assert all(piece.endswith("\n") and piece.startswith("one") for _, piece in found)


def test_a_text_that_cannot_be_redacted_is_withheld_and_a_gap() -> None:
    redactor = personal(Names("x", is_down=True))
    answer, tally = redact_answer({"excerpt": "kept from you", "count": 3, "file": "a/x.log"}, redactor)
    assert answer == {"excerpt": WITHHELD, "count": 3, "file": "a/x.log"}
    assert tally.gaps == [
        "a text in `excerpt` was withheld because it could not be redacted: the detector does not answer"
    ]


def test_many_texts_that_are_withheld_are_one_gap_with_their_number() -> None:
    answer = {"lines": [{"excerpt": f"line {number}"} for number in range(40)]}
    _, tally = redact_answer(answer, personal(Names("x", is_down=True)))
    assert tally.gaps == [
        "40 texts in `excerpt` were withheld because they could not be redacted: the detector does not answer"
    ]


def test_the_texts_of_an_answer_are_asked_about_together_and_once() -> None:
    detector = Names("Jane Doe", most_bytes=100_000)
    redactor = personal(detector)
    answer = {"lines": [{"excerpt": f"{number} by Jane Doe"} for number in range(200)], "note": "Jane Doe"}
    for _ in range(2):
        redacted, tally = redact_answer(answer, redactor)
        assert redacted["lines"][199] == {"excerpt": "199 by [REDACTED:name]"}
        assert tally.counts == {"name": 201}
    assert len(detector.asked) == 1


def test_no_secret_is_told_to_a_detector() -> None:
    detector = Names("Jane Doe")
    redacted = personal(detector).redact(f"Jane Doe has {KEY} at 10.1.2.3")
    assert redacted.text == "[REDACTED:name] has [REDACTED:aws_access_key] at [REDACTED:ip]"
    assert redacted.counts == {"name": 1, "aws_access_key": 1, "ip": 1}
    assert detector.asked == ["Jane Doe has [REDACTED:aws_access_key] at [REDACTED:ip]"]


def test_a_marker_that_a_detector_takes_for_part_of_a_name_goes_whole() -> None:
    redacted = personal(Names("Jane [REDACTED:aws")).redact(f"by Jane {KEY} today")
    assert redacted.text == "by [REDACTED:name] today"


@given(st.lists(st.text(max_size=40), max_size=12), st.integers(0, 200), st.integers(1, 60))
def test_an_entity_across_several_texts_hides_its_part_of_each(texts: list[str], start: int, size: int) -> None:
    wanted = list(dict.fromkeys(text for text in texts if text.strip()))
    whole = "\n\n".join(wanted)

    @dataclass
    class Somewhere(Names):
        def find(self, text: str) -> Sequence[Entity]:
            assert len(text) == len(whole)
            return [Entity(start=min(start, len(text)), end=min(start + size, len(text)), type="x")]

    replies = PersonalDataInquiry(Somewhere("", most_bytes=100_000)).ask(texts)
    shown = "\n\n".join(_masked(text, replies[text].entities) for text in wanted)
    expected = "".join("#" if start <= at < start + size and char != "\n" else char for at, char in enumerate(whole))
    assert shown == expected


def _masked(text: str, entities: Sequence[Entity]) -> str:
    hidden = {at for entity in entities for at in range(entity.start, entity.end)}
    return "".join("#" if at in hidden and char != "\n" else char for at, char in enumerate(text))


def test_a_quote_of_what_a_service_hid_is_known_again() -> None:
    redactor = personal(Names("Jane Doe"))
    assert stands_in("run by [REDACTED:name] now", "x run by Jane Doe now", redactor)
    assert not stands_in("run by [REDACTED:name] now", "x run by John Doe now", redactor)
    assert not stands_in("run by [REDACTED:name] now", "x run by Jane Doe now", personal(Names("x", is_down=True)))


@pytest.mark.parametrize(
    ("quote", "does_stand"),
    [
        (f"key {KEY}", True),
        ("key [REDACTED:aws_access_key]", True),
        ("from [REDACTED:ip]", True),
        ("key [REDACTED:password]", False),
        ("[REDACTED:ip] came", False),
        ("never written", False),
    ],
)
def test_a_quote_of_a_redacted_line_is_known_again(quote: str, does_stand: bool) -> None:
    assert stands_in(quote, f"used key {KEY} from 10.1.2.3 here") is does_stand


def test_ids_digests_and_offsets_stay_true() -> None:
    answer: dict[str, object] = {
        "findings": [
            {
                "finding_id": "F-0123",
                "evidence": {"sha256": "ab" * 32, "excerpt": f"key {KEY}", "byte_offset": {"start": 3, "end": 27}},
            }
        ],
        "next_page_token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJleGFtcGxlIn0",
    }
    redacted, tally = redact_answer(answer, Redactor())
    assert redacted["findings"][0]["evidence"] == {
        "sha256": "ab" * 32,
        "excerpt": "key [REDACTED:aws_access_key]",
        "byte_offset": {"start": 3, "end": 27},
    }
    assert redacted["next_page_token"] == answer["next_page_token"]
    assert tally.counts == {"aws_access_key": 1}


def test_a_path_keeps_a_host_name_but_no_secret() -> None:
    answer = {"file": f"var_log/ip-10-0-1-2/{KEY}.log", "excerpt": "on ip-10-0-1-2"}
    redacted, _ = redact_answer(answer, Redactor(hides_personal=True))
    assert redacted == {
        "file": "var_log/ip-10-0-1-2/[REDACTED:aws_access_key].log",
        "excerpt": "on [REDACTED:host_name]",
    }
