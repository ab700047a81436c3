"""An index that somebody else wrote, or damaged: read, or refused in one way."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.archives.bundles import NoProgress, analyze_files, write_form
from tests.support.knowledge.packs import a_pack, a_rule, a_suppression

from affidavit.errors import InputRefused
from affidavit.index.findings_index import index_from_json, index_to_json
from affidavit.investigation import verify
from affidavit.knowledge import Knowledge

PACK = a_pack(
    a_rule(
        "test.kaput",
        "KAPUT",
        severity="critical",
        cleared_by=["MENDED"],
        samples={
            "fires": ["KAPUT"],
            "quiet": ["fine"],
            "clears": ["MENDED"],
        },
    ),
    a_suppression("drill", ["test.kaput"], "drill", suppressed="KAPUT drill", kept="KAPUT"),
)
FILES = {"kubelet/kubelet.log": b"2026-01-15T10:00:00Z KAPUT\n2026-01-15T10:00:01Z MENDED\nKAPUT drill\nKAPUT\n"}
VERSION_1 = {
    "version": "1.0",
    "instanceId": "i-0123456789abcdef0",
    "indexedAt": "2025-06-01T00:00:00Z",
    "findings": [
        {"severity": "warning", "pattern": "x", "file": "a.log", "sample": "s", "lines": [7, 9], "count": 2},
        {"severity": "critical", "pattern": "y", "file": "b.log", "lines": 3},
    ],
}

texts = st.text(st.characters(), max_size=6)
numbers = st.integers() | st.floats() | st.sampled_from([10**400, -(10**400), 2**63, 2**62, -1, 0, 1e308])
leaves = (
    st.none() | st.booleans() | numbers | texts | st.sampled_from(["1.0", "2.0", "critical", "0001-01-01", "9e999"])
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["version", "findings", "lines"]) | texts, inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return index_to_json(analyze_files(FILES, PACK, tmp_path_factory.mktemp("index")).index)


@given(value=values)
def test_any_json_is_read_or_refused(value: object) -> None:
    _read_or_refused(json.dumps(value).encode())


@given(text=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    _read_or_refused(text)


@pytest.mark.parametrize("is_old", [True, False])
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_index_with_anything_in_place_of_a_part_is_read_or_refused(
    data: st.DataObject, written: bytes, is_old: bool
) -> None:
    index: Any = json.loads(json.dumps(VERSION_1)) if is_old else json.loads(written)
    *way, last = data.draw(st.sampled_from(sorted(_places(index), key=str)))
    holder = index
    for step in way:
        holder = holder[step]
    if data.draw(st.booleans()):
        holder[last] = data.draw(values)
    else:
        del holder[last]
    _read_or_refused(json.dumps(index).encode())


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*way, key)
        yield from _places(value[key], (*way, key))


def _read_or_refused(text: bytes) -> None:
    """What is read can be written, and reads back as the same."""
    try:
        index = index_from_json(text)
    except InputRefused as error:
        assert str(error).startswith("the index is not a findings index (")
        str(error).encode()
    else:
        assert index_from_json(index_to_json(index)) == index


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"findings": ["x"]}', "findings.0: "),
        (
            b'{"findings": [{"severity": "info", "pattern": "x", "file": "a", "lines": [1e999]}]}',
            "findings.0.lines.0: ",
        ),
        (b'{"findings": [{"severity": "worse", "pattern": "x", "file": "a"}]}', "not one of critical, warning, info"),
        (b"[" * 200_000, "nested too deep"),
        (b'{"version": "2.0", "findings": ' + b"[" * 200_000, "nested too deep"),
        (b'{"version": "2.0"}', "index_id: Field required"),
        (b"[]", "no JSON object"),
        (b'{"findings": [{"severity": "info", "pattern": "\\ud800", "file": "a"}]}', "Invalid JSON"),
    ],
)
def test_what_is_wrong_and_where_is_said(text: bytes, problem: str) -> None:
    with pytest.raises(InputRefused) as refused:
        index_from_json(text)
    assert problem in str(refused.value) and "\n" not in str(refused.value)
    assert refused.value.hint


@pytest.mark.parametrize("start", [-1, 0, 2**31, 2**62, 2**64, 10**30])
@pytest.mark.parametrize("length", [-1, 0, 2**31, 2**62, 2**64, 10**30])
def test_evidence_that_claims_impossible_bytes_does_not_hold(
    written: bytes, start: int, length: int, tmp_path: Path
) -> None:
    data = json.loads(written)
    data["findings"][0]["evidence"]["byte_offset"] = {"start": start, "end": start + length}
    bundle = write_form(FILES, tmp_path, "directory")
    (tmp_path / "work").mkdir()
    text, knowledge = json.dumps(data).encode(), Knowledge(pack=PACK, checks=())
    verification = verify(text, bundle, knowledge=knowledge, workspace=tmp_path / "work", progress=NoProgress())
    assert verification.evidence[0].check.problems
    assert verification.evidence[0] in verification.broken


@pytest.mark.parametrize("share", [float("nan"), float("inf"), -1, 101])
def test_a_share_that_is_none_is_refused(written: bytes, share: float) -> None:
    data = json.loads(written)
    data["coverage"]["coverage_pct"] = share
    with pytest.raises(InputRefused, match=r"coverage\.coverage_pct"):
        index_from_json(json.dumps(data).encode())
