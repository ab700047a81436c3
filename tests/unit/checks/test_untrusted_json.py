"""JSON of ipamd and the kubelet, however it is written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.checks.numbered_lines import Document
from affidavit.checks.untrusted_json import first_lines, json_of

texts = st.text(st.characters(), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def document(text: str) -> Document:
    return Document("ipamd/ipam.json", text.encode("utf-8", "surrogatepass"))


@given(values, st.booleans())
def test_what_is_read_can_be_written_and_is_the_same_when_it_holds_no_half_character(value: object, raw: bool) -> None:
    read = json_of(document(json.dumps(value, ensure_ascii=not raw)))
    json.dumps(read, ensure_ascii=False).encode()
    if not any("\ud800" <= character <= "\udfff" for character in json.dumps(value, ensure_ascii=False)):
        assert read == value


def test_half_a_character_is_replaced_in_names_and_values() -> None:
    assert json_of(document(r'{"\ud800a": ["\udfff", "\ud83d\ude00"]}')) == {"\ufffda": ["\ufffd", "\U0001f600"]}


@given(st.lists(st.text(max_size=8), min_size=1, max_size=12), st.booleans())
def test_each_string_is_found_on_its_first_line(strings: list[str], raw: bool) -> None:
    lines = [json.dumps(each, ensure_ascii=not raw) for each in strings]
    found = first_lines(document("[\n" + ",\n".join(lines) + "\n]"), strings)
    assert found == {each: strings.index(each) + 2 for each in dict.fromkeys(strings)}


def test_a_string_that_is_written_with_escapes_is_found() -> None:
    assert first_lines(document('{"a":\n"10.0.0\\u002e1",\n"b": "\\ud800"}'), ["10.0.0.1", "\ufffd"]) == {
        "10.0.0.1": 2,
        "\ufffd": 3,
    }


@pytest.mark.parametrize("content", ['{"a":\n"10.0.0.1"}', '{"a": "' + "\u225c" * 1_000_000 + '\u5c00"}'])
def test_a_string_in_utf_16_is_no_string_without_a_line(content: str) -> None:
    """The second is made of quotes behind backslashes: trying each of them to the end would take an hour."""
    assert first_lines(Document("ipamd/ipam.json", content.encode("utf-16-le")), ["10.0.0.1"]) == {"10.0.0.1": 1}
