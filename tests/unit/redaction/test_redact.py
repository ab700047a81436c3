from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.errors import UpstreamFailed
from affidavit.redaction.answer import WITHHELD, redact_answer
from affidavit.redaction.detector import OVERLAP, Entity, pieces
from affidavit.redaction.pattern import Kind
from affidavit.redaction.patterns import load_patterns
from affidavit.redaction.quotes import stands_in
from affidavit.redaction.redact import Redactor

KEY = "AKIAIOSFODNN7EXAMPLE"
PLANTED = [sample.whole for pattern in load_patterns()[Kind.SECRET] for sample in pattern.samples.hidden]
texts = st.lists(st.one_of(st.text(max_size=30), st.sampled_from([*PLANTED, "ä€😀", "\r\n", "\n", "\x00"])), max_size=8)


@dataclass
class Names:
    """A detector that knows one name and takes little text at a time."""

    name: str
    most_characters: int = 1_000
    is_down: bool = False

    def find(self, text: str) -> Sequence[Entity]:
        assert len(text) <= self.most_characters
        if self.is_down:
            raise UpstreamFailed("the detector does not answer")
        at = text.find(self.name)
        return [Entity(start=at, end=at + len(self.name), type="NAME")] if at >= 0 else []


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


@pytest.mark.parametrize("before", [0, 990, 995, 1_000, 1_744 - 5, 5_000])
def test_a_name_across_the_seam_of_two_pieces_is_found(before: int) -> None:
    text = "ä" * before + " Jane Doe " + "z" * 3_000
    redacted = Redactor(hides_personal=True, detector=Names("Jane Doe")).redact(text)
    assert redacted.text == text.replace("Jane Doe", "[REDACTED:name]")


@given(st.text(max_size=4_000), st.integers(OVERLAP + 1, OVERLAP + 700))
def test_pieces_cover_the_text_and_overlap(text: str, size: int) -> None:
    covered = 0
    for at, piece in pieces(text, size):
        assert text[at : at + len(piece)] == piece
        assert at == 0 or covered - at >= min(OVERLAP, len(piece))
        covered = at + len(piece)
    assert covered == len(text)


def test_a_text_that_cannot_be_redacted_is_withheld_and_a_gap() -> None:
    redactor = Redactor(hides_personal=True, detector=Names("x", is_down=True))
    answer, tally = redact_answer({"excerpt": "kept from you", "count": 3}, redactor)
    assert answer == {"excerpt": WITHHELD, "count": 3}
    assert tally.gaps == [
        "a text in `excerpt` was withheld because it could not be redacted: the detector does not answer"
    ]


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
