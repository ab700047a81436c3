"""The promise of the product: every finding re-reads byte for byte, whatever the file looks like."""

import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.archives.bundles import analyze_files
from tests.support.knowledge.packs import a_pack, a_rule, a_suppression

from affidavit.errors import InputRefused
from affidavit.evidence.citation_check import check
from affidavit.evidence.coverage import SkipReason
from affidavit.index.scanning.crew import WORTH_A_CREW, Crew, scan_files
from affidavit.index.scanning.parts import PART, Cutter, FilePart, ScannedFile, ScannedPart, joined
from affidavit.index.scanning.rule_matching import RuleSlots
from affidavit.index.scanning.scan import BLOCK, PartScan, scan_buffer
from affidavit.matching.matcher import Matcher

PACK = a_pack(
    a_rule("test.kaput", "KAPUT"),
    a_rule("test.at-end", "the end$", fires="the end"),
    a_rule("test.at-start", "^first word", fires="first word"),
    a_rule("test.gap", r"from\s+[^x]{1,9}to", fires="from here to"),
    a_rule("test.bytes", r"\xc3\xa9t\xc3\xa9", fires="un été chaud"),
    a_rule("test.open-end", r"from\s*\w+", r"xx.*", fires="from xx"),
    a_rule("test.not-mine", "KAPUT", unless=["harmless"]),
)
PATH = "var_log/some.log"

pieces = st.sampled_from(
    [
        b"KAPUT",
        b"the end",
        b"first word",
        b"from  a to",
        b"from\nto",
        "un été chaud".encode(),
        b"harmless",
        b"\x00",
        b"\xff\xfe",
        b"\r",
        b"\n",
        b"\r\n",
        b"\n\n",
        b"x" * 40,
        b"y" * 70_000,
        b"Jan 15 10:25:03 host prog: ",
        "€".encode()[:2],
    ]
)
contents = st.lists(pieces, max_size=60).map(b"".join)


def reference(content: bytes) -> dict[str, list[tuple[int, int, int]]]:
    """(line, start, end) of each rule's hits, one line at a time with RE2 alone; zeros in front are no part of it."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    start = 0
    lines = content.split(b"\n")
    for number, raw in enumerate(lines, 1):
        line = raw.removesuffix(b"\r") if number < len(lines) or raw.endswith(b"\r") else raw
        shown = line.lstrip(b"\0")
        first, end = start + len(line) - len(shown), start + len(line)
        for rule in PACK.rules:
            if rule.wordings.match(shown) and not rule.exceptions.match(shown):
                found.setdefault(rule.id, []).append((number, first, end))
        start += len(raw) + 1
    return found


def by_rule(scanned: ScannedFile) -> dict[str, list[tuple[int, int, int]]]:
    found: dict[str, list[tuple[int, int, int]]] = {}
    hits = scanned.hits
    for slot, line, start, end in zip(hits.slot, hits.line, hits.start, hits.start + hits.length, strict=True):
        found.setdefault(PACK.rules[slot].id, []).append((int(line), int(start), int(end)))
    return found


def scan(content: bytes, *, engine: str = "auto", block: int = BLOCK, part: int = PART) -> ScannedFile:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("affidavit.index.scanning.parts.PART", part)
        location = Path(folder) / "log"
        location.write_bytes(content)
        return scanned_at(location, RuleSlots(PACK, engine=engine), block)


def scanned_at(location: Path, slots: RuleSlots, block: int = BLOCK, path: str = PATH) -> ScannedFile:
    def scan_part(part: FilePart, *, is_wrapped: bool = False) -> ScannedPart:
        return PartScan(part, slots, scan_buffer(block), is_wrapped=is_wrapped).scan()

    parts = Cutter(path, location, path).finished(location.stat().st_size)
    return joined([*map(scan_part, parts)], lambda part: scan_part(part, is_wrapped=True))


@settings(max_examples=300, deadline=None)
@given(content=contents, block=st.sampled_from([64, 1000, 4096, BLOCK]), part=st.sampled_from([64 << 10, PART]))
@example(content=b"KAPUT\r", block=64, part=PART)
@example(content=b"a" * 62 + "été".encode() + b" KAPUT\nun " + "été".encode(), block=64, part=PART)
def test_the_scan_finds_exactly_what_re2_finds_line_by_line(content: bytes, block: int, part: int) -> None:
    assert by_rule(scan(content, block=block, part=part)) == reference(content)


@settings(max_examples=150, deadline=None)
@given(content=contents)
def test_both_engines_find_the_same(content: bytes) -> None:
    assert by_rule(scan(content, engine="re2")) == by_rule(scan(content, engine="hyperscan"))


@pytest.mark.parametrize("hits", [1, 40, 60, 5000])
def test_few_and_many_hits_in_a_block_are_located_alike(hits: int) -> None:
    content = b"".join(b"line %d %s\n" % (n, b"KAPUT KAPUT the end" if n % 3 else b"fine") for n in range(hits))
    assert by_rule(scan(content)) == reference(content)


@settings(max_examples=200, deadline=None)
@given(content=contents, block=st.sampled_from([1000, BLOCK]))
def test_hits_judged_together_count_as_hits_judged_alone(content: bytes, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("affidavit.index.scanning.scan.MANY", 0)
        patch.setattr("affidavit.index.scanning.rule_matching.MANY_DOUBTS", 0)
        patch.setattr("affidavit.index.scanning.rule_matching.FEW_DOUBTS", -1)
        assert by_rule(scan(content, block=block)) == reference(content)


def test_many_suppressed_hits_are_told_from_exceptions_and_findings_by_the_first_explanation(tmp_path: Path) -> None:
    pack = a_pack(
        a_rule("test.kaput", "KAPUT", unless=["harmless"]),
        a_rule("test.other", "KAPUT"),
        a_suppression("a-drill", ["test.kaput"], "fire drill", suppressed="KAPUT: fire drill", kept="KAPUT: fire"),
        a_suppression("b-fire", ["test.kaput"], "fire", suppressed="KAPUT: fire", kept="KAPUT"),
    )
    some = b"KAPUT\nKAPUT fire\nKAPUT fire drill\nKAPUT harmless fire drill\nfire drill\n"
    index = analyze_files({PATH: some * 300}, pack, tmp_path).index
    assert {(finding.rule, finding.count) for finding in index.findings} == {("test.kaput", 300), ("test.other", 1200)}
    assert [(entry.suppression, entry.count) for entry in index.suppressed] == [("a-drill", 300), ("b-fire", 300)]


@pytest.mark.parametrize("times", [1, 300])
def test_rules_of_last_resort_tell_only_of_lines_that_no_other_rule_knows_and_the_worst_of_them_alone(
    times: int, tmp_path: Path
) -> None:
    pack = a_pack(
        a_rule("test.kaput", "KAPUT", severity="low"),
        a_rule("test.error", "error", severity="medium", last_resort=True, unless=["harmless"]),
        a_rule("test.any-error", "error", severity="low", last_resort=True, also=["harm", "loss"], fires="error, harm"),
        a_suppression("drill", ["test.kaput"], "drill", suppressed="KAPUT drill", kept="KAPUT"),
    )
    some = b"error\nKAPUT error\nerror KAPUT drill\nerror, harmless\nKAPUT\nfine, no harm\n"
    index = analyze_files({PATH: some * times}, pack, tmp_path).index
    assert {(finding.rule, finding.evidence.excerpt, finding.count) for finding in index.findings} == {
        ("test.error", "error", times),
        ("test.any-error", "error, harmless", times),
        ("test.kaput", "KAPUT error", 2 * times),
    }


def test_an_exception_that_the_engine_cannot_take_still_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(patterns: object, *, engine: str) -> None:
        raise InputRefused("too large")

    slots = RuleSlots(PACK)
    assert slots.matcher is not None
    monkeypatch.setattr("affidavit.index.scanning.rule_matching.compile_matcher", refuse)
    with tempfile.TemporaryDirectory() as folder:
        location = Path(folder) / "log"
        location.write_bytes(b"KAPUT harmless\nKAPUT\n" * 100)
        found = by_rule(scanned_at(location, slots))
    assert len(found["test.not-mine"]) == 100


def test_a_match_at_the_end_of_a_line_of_five_megabytes_is_found_in_place() -> None:
    content = b"ok\n" + b"z" * 5_000_000 + b"KAPUT\nKAPUT"
    scanned = scan(content)
    assert by_rule(scanned)["test.kaput"] == [(2, 3, 5_000_008), (3, 5_000_009, 5_000_014)]
    assert scanned.oversized == 0


def test_a_line_too_long_to_hold_is_counted_as_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affidavit.index.scanning.scan.LONGEST_LINE", 4096)
    scanned = scan(b"KAPUT\n" + b"q" * 9000 + b"KAPUT\nKAPUT\n", block=1024)
    assert by_rule(scanned)["test.kaput"] == [(1, 0, 5), (3, 9012, 9017)]
    assert scanned.oversized == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=contents)
@example(content=b"KAPUT\xff\xfe\xff\xfe")
def test_every_finding_of_any_content_verifies(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        analysis = analyze_files({PATH: content, "kubelet/kubelet.log": b"ok\n"}, PACK, Path(folder))
        skipped = {each.file: each.reason for each in analysis.index.coverage.skipped_files}
        is_read = skipped.get(PATH) not in (SkipReason.BINARY, SkipReason.UNREADABLE)
        expected = reference(content) if is_read else {}
        assert {finding.rule: finding.count for finding in analysis.index.findings} == {
            rule: len(rows) for rule, rows in expected.items()
        }
        for finding in analysis.index.findings:
            assert check(finding.evidence, analysis.bundle).holds
            first = expected[finding.rule][0]
            assert finding.evidence.line_range is not None and finding.evidence.byte_offset is not None
            assert (finding.evidence.line_range.start, finding.evidence.byte_offset.start) == first[:2]
            others = [(o.line, o.byte_offset.start, o.byte_offset.end) for o in finding.additional_occurrences]
            assert others == expected[finding.rule][1:101]


@pytest.mark.parametrize("worth", [0, WORTH_A_CREW])
def test_more_workers_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worth: int) -> None:
    monkeypatch.setattr("affidavit.index.scanning.crew.WORTH_A_CREW", worth)
    files = {}
    for number in range(12):
        files[f"var_log/{number}.log"] = tmp_path / str(number)
        files[f"var_log/{number}.log"].write_bytes(b"KAPUT\n" * number + b"fine\n")
    slots = RuleSlots(PACK)
    found = [
        {path: by_rule(scanned) for path, scanned in scan_files(files, slots, workers).items()} for workers in (1, 2, 5)
    ]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 12


def test_behind_wrapped_lines_every_part_is_read_as_wrapped() -> None:
    plain = b"plain\n" * 24_000
    content = b"[pod/a/b] wrapped\n" * 4_000 + plain + b"[pod/a/b] first word\n" + plain
    found = by_rule(scan(content, part=64 << 10))
    assert found == by_rule(scan(content))
    assert [line for line, _, _ in found["test.at-start"]] == [28_001]


def test_a_growing_file_is_cut_at_line_ends_where_a_whole_one_is(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes((b"a line\n" * (PART // 7))[: PART - 9] + b"x" * (PART + 20) + b"\nmore\n" * 2_000_000)
    size = log.stat().st_size
    whole, growing = Cutter("a", log, "a"), Cutter("a", log, "a")
    parts = [*whole.finished(size)]
    steps = (part for at in range(0, size, 1 << 19) for part in growing.grown(at))
    assert [*steps, *growing.finished(size)] == parts
    assert (len(parts), parts[0].end, parts[-1].end) == (3, 7 * ((PART - 9) // 7), size)
    assert all(one.end == next_one.start for one, next_one in pairwise(parts))


def test_parts_for_which_there_is_no_room_are_scanned_by_who_tells_of_them(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"fine\n" * PART + b"KAPUT\n")
    with Crew(RuleSlots(PACK), 1) as crew:
        crew._tasks.put = lambda parts: False  # pyright: ignore[reportPrivateUsage]
        crew.finished(PATH, log, log.stat().st_size, PATH)
        assert [line for line, _, _ in by_rule(crew.results()[PATH])["test.kaput"]] == [PART + 1]


def test_a_suppressed_hit_is_counted_with_its_reason_and_is_no_finding(tmp_path: Path) -> None:
    pack = a_pack(
        a_rule("test.kaput", "KAPUT"),
        a_suppression("drill", ["test.kaput"], "fire drill", suppressed="KAPUT: fire drill", kept="KAPUT: fire"),
    )
    content = b"KAPUT\nKAPUT fire drill 1\nfire drill\nKAPUT fire drill 2\n"
    index = analyze_files({PATH: content}, pack, tmp_path).index
    assert [(finding.rule, finding.count) for finding in index.findings] == [("test.kaput", 1)]
    assert [(entry.suppression, entry.count, entry.reason) for entry in index.suppressed] == [
        ("drill", 2, "The test explains it.")
    ]


def test_a_long_file_is_scanned_by_the_rules_that_read_it_and_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = [a_rule(f"other.rule-{n}", "KAPUT", reads=["coredns"]) for n in range(9)]
    slots = RuleSlots(a_pack(*PACK.rules, *foreign))
    location = tmp_path / "kubelet.log"
    location.write_bytes(b"line one KAPUT\nharmless\nthe end\n" * 400)

    def scanned() -> list[tuple[str, int]]:
        hits = scanned_at(location, slots, 1000, "kubelet/kubelet.log").hits
        return [(slots.table[slot].rule.id, int(line)) for slot, line in zip(hits.slot, hits.line, strict=True)]

    by_all = scanned()
    monkeypatch.setattr("affidavit.index.scanning.scan.LONG_FILE", 3000)
    monkeypatch.setattr(slots, "matcher", _UsedUpTo(slots.matcher, 4))
    assert scanned() == by_all
    assert {rule for rule, _ in by_all} == {"test.kaput", "test.at-end", "test.not-mine"}


class _UsedUpTo:
    """The engine of all rules, which must not be asked about more blocks than these."""

    def __init__(self, matcher: Matcher, most: int) -> None:
        self._matcher = matcher
        self._left = most

    def scan(self, block: bytearray, length: int) -> list[int]:
        self._left -= 1
        assert self._left >= 0, "a long file should have an engine of its own by now"
        return self._matcher.scan(block, length)
