"""Questions about nodes, asked of bundles that were really ingested."""

import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.support.knowledge.libraries import INSTANCE, OTHER, a_library, shelve
from tests.support.knowledge.packs import a_pack, a_rule

from affidavit.errors import AffidavitError, InputRefused, NotFound
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity
from affidavit.knowledge import Knowledge, load_knowledge
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.pattern_prevalence import uncounted
from affidavit.nodes.questions.artifact import artifact
from affidavit.nodes.questions.correlate import correlate
from affidavit.nodes.questions.errors import errors
from affidavit.nodes.questions.file_listing import list_bundle_files
from affidavit.nodes.questions.network_and_storage import known_areas, network_diagnostics, storage_diagnostics
from affidavit.nodes.questions.node_comparison import cluster_health, compare_nodes
from affidavit.nodes.questions.quick_triage import quick_triage
from affidavit.nodes.questions.read import read
from affidavit.nodes.questions.search import search
from affidavit.nodes.questions.summarize import summarize
from affidavit.nodes.questions.validate import validate
from affidavit.nodes.questions.verify_report import verify_report
from affidavit.nodes.wire.correlate import CorrelateRequest
from affidavit.nodes.wire.files import ArtifactRequest, ListBundleFilesRequest
from affidavit.nodes.wire.findings_page import ErrorsRequest
from affidavit.nodes.wire.network_and_storage import CheckStatus, DiagnosticsAnswer, DiagnosticsRequest
from affidavit.nodes.wire.node_comparison import ClusterHealthRequest, CompareNodesRequest
from affidavit.nodes.wire.read import ReadRequest
from affidavit.nodes.wire.search import SearchAnswer, SearchRequest, SearchResult
from affidavit.nodes.wire.summarize import SummarizeRequest
from affidavit.nodes.wire.triage import QuickTriageRequest
from affidavit.nodes.wire.validate import ValidateRequest
from affidavit.nodes.wire.verify_report import ClaimVerdict, ReportClaim, VerifyReportRequest
from affidavit.ports.table import Key

LOG = "kubelet/kubelet.log"
LINES = b"".join(b"Jan 15 10:00:%02d ip kubelet[1]: %s\n" % (n, b"KAPUT" if n % 3 else b"quiet") for n in range(60))
FILES = {
    LOG: LINES + b"Jan 15 10:01:00 ip kubelet[1]: DEAD \xff end\r\n",
    "containerd/containerd-log.txt": b"Jan 15 10:01:30 ip containerd[1]: KAPUT as well\n",
    **{f"var_log/{n}.log": b"ODD %d\n" % n for n in range(30)},
}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = a_library(tmp_path)
    shelve(library, tmp_path / "in", FILES)
    return library


def tamper(library: Library, path: str, change: bytes | None) -> None:
    """The way no honest program could: behind the library's back."""
    location = library.objects.local_copy(f"eks_{INSTANCE}/extracted/{path}")
    location.unlink() if change is None else location.write_bytes(change)


# errors


@pytest.mark.parametrize("size", [1, 7, 50])
def test_the_pages_together_are_every_finding_once(library: Library, size: int) -> None:
    found: list[str] = []
    token = None
    while True:
        page = errors(library, ErrorsRequest(instance_id=INSTANCE, page_size=size, page_token=token))
        found.extend(finding.finding_id for finding in page.findings)
        token = page.pagination.next_page_token
        assert page.truncated == page.pagination.has_more == (token is not None)
        if token is None:
            break
    assert found == [f"F-{n:03d}" for n in range(1, 34)]
    assert page.pagination.total_findings == page.summary.total == 33


def test_a_page_token_is_refused_when_broken_or_for_another_question(library: Library) -> None:
    token = errors(library, ErrorsRequest(instance_id=INSTANCE, page_size=1)).pagination.next_page_token
    assert token is not None
    flipped = token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1]
    for request in (
        ErrorsRequest(instance_id=INSTANCE, page_token=flipped),
        ErrorsRequest(instance_id=INSTANCE, page_token="nonsense!"),
        ErrorsRequest(instance_id=INSTANCE, page_token="é"),
        ErrorsRequest(instance_id=INSTANCE, page_token=token, severity=Severity.LOW),
        ErrorsRequest(instance_id=INSTANCE, page_token=token, index_id="ix-other"),
        ErrorsRequest(instance_id=OTHER, page_token=token),
    ):
        with pytest.raises(InputRefused, match="pageToken"):
            errors(library, request)


def test_paging_goes_on_in_its_index_when_a_newer_one_comes(library: Library, tmp_path: Path) -> None:
    first = errors(library, ErrorsRequest(instance_id=INSTANCE, page_size=20))
    shelve(library, tmp_path / "newer", {LOG: b"DEAD\n"})
    second = errors(library, ErrorsRequest(instance_id=INSTANCE, page_token=first.pagination.next_page_token))
    assert second.index_id == first.index_id
    assert second.findings[0].finding_id == "F-021"


def test_concise_findings_are_four_fields_and_less_than_a_third(library: Library) -> None:
    detailed = errors(library, ErrorsRequest(instance_id=INSTANCE))
    concise = errors(library, ErrorsRequest.model_validate({"instanceId": INSTANCE, "response_format": "concise"}))
    assert set(concise.model_dump(mode="json")["findings"][0]) == {"finding_id", "severity", "pattern", "count"}
    assert len(concise.model_dump_json()) <= 0.3 * len(detailed.model_dump_json())


def test_a_pattern_of_many_bundles_is_marked_and_a_critical_one_is_never_normal(
    library: Library, tmp_path: Path
) -> None:
    for number in range(10):
        instance = f"i-0aaaaaaaaaaaaaaa{number}"
        shelve(library, tmp_path / "fleet", {LOG: b"KAPUT DEAD %d\n" % number}, instance=instance)
    asked = ErrorsRequest(instance_id=INSTANCE, cluster_context="prod")
    marked = {f.pattern: f for f in errors(library, asked).findings if isinstance(f, Finding)}
    assert marked["It is kaput"].is_baseline is True
    assert "11 bundles" in (marked["It is kaput"].baseline_note or "")
    assert marked["It is dead"].is_baseline is False
    assert "not normal" in (marked["It is dead"].baseline_note or "")
    assert marked["It is odd"].is_baseline is None
    assert all(f.is_baseline is None for f in errors(library, ErrorsRequest(instance_id=INSTANCE)).findings)


def test_a_cluster_that_nobody_counted_is_told_where_nothing_is_marked(library: Library) -> None:
    known = errors(library, ErrorsRequest(instance_id=INSTANCE, cluster_context="prod", max_bytes=1 << 20))
    misspelt = errors(library, ErrorsRequest(instance_id=INSTANCE, cluster_context="pord", max_bytes=1 << 20))
    assert misspelt.gaps == [*uncounted("pord", {}), *known.gaps] and "clusterContext" in misspelt.gaps[0]
    ids = ["F-001"]
    said = [
        summarize(library, SummarizeRequest(instance_id=INSTANCE, finding_ids=ids, cluster_context=name)).caveat
        for name in ("prod", "pord")
    ]
    assert "clusterContext" in said[1] and said[1].startswith(said[0])


@pytest.mark.parametrize("field", ["index_id", "search_id", "clusterContext"])
def test_an_empty_name_is_refused_and_never_any_other(library: Library, field: str) -> None:
    """Taken for none at all, an empty search_id would find the lines of another search under the same number."""
    for request in (ErrorsRequest, SummarizeRequest, VerifyReportRequest, SearchRequest, CorrelateRequest):
        if field in {(f.serialization_alias or name) for name, f in request.model_fields.items()}:
            with pytest.raises(ValidationError, match=field):
                request.model_validate({"instanceId": INSTANCE, field: ""})


def test_a_node_without_a_bundle_is_not_found(library: Library) -> None:
    with pytest.raises(NotFound, match=OTHER):
        errors(library, ErrorsRequest(instance_id=OTHER))


@pytest.mark.parametrize("instance", ["i-xyz", "i-0123", "../i-0123456789abcdef0", "i-0123456789abcdef0\n"])
def test_an_instance_id_of_another_shape_is_refused(instance: str) -> None:
    with pytest.raises(ValidationError):
        ErrorsRequest(instance_id=instance)


# validate


def test_validate_computes_the_checksums(library: Library) -> None:
    answer = validate(library, ValidateRequest(instance_id=INSTANCE))
    assert (answer.complete, answer.verified_files, answer.total_expected) == (True, 32, 32)
    assert answer.coverage_report.coverage_pct == 100.0


@pytest.mark.parametrize("change", [b"ODD 8\n", b"ODD", b""], ids=["a changed byte", "cut short", "emptied"])
def test_validate_finds_a_file_that_changed(library: Library, change: bytes) -> None:
    tamper(library, "var_log/7.log", change)
    answer = validate(library, ValidateRequest(instance_id=INSTANCE))
    assert not answer.complete
    assert [(each.file, each.expected_size, each.actual_size) for each in answer.corrupted_files] == [
        ("var_log/7.log", 6, len(change))
    ]
    assert answer.corrupted_files[0].expected_md5 != answer.corrupted_files[0].actual_md5


def test_validate_finds_a_file_that_is_missing(library: Library) -> None:
    tamper(library, "var_log/7.log", None)
    answer = validate(library, ValidateRequest(instance_id=INSTANCE))
    assert (answer.complete, answer.missing_files, answer.verified_files) == (False, ["var_log/7.log"], 31)


def test_without_a_manifest_nothing_is_called_complete(library: Library) -> None:
    library.objects.local_copy(f"eks_{INSTANCE}/manifest.json").unlink()
    answer = validate(library, ValidateRequest(instance_id=INSTANCE))
    assert (answer.manifest_version, answer.complete) == (None, False)
    assert "manifest.json" in answer.gaps[0]


def test_validate_takes_an_execution_or_says_that_it_is_unknown(library: Library) -> None:
    with pytest.raises(NotFound):
        validate(library, ValidateRequest(execution_id="exec-1"))
    with pytest.raises(ValidationError):
        ValidateRequest()
    assert library.state.get(Key(pk="EXEC#exec-1", sk="REGION")) is None


# search


def details(answer: SearchAnswer) -> list[SearchResult]:
    return [result for result in answer.results if isinstance(result, SearchResult)]


def test_search_counts_every_line_and_lists_the_first_ones(library: Library) -> None:
    answer = search(library, SearchRequest(instance_id=INSTANCE, query="KAPUT", max_results=5))
    assert [(each.file, each.count, len(each.additional_matches) + 1) for each in details(answer)] == [
        ("containerd/containerd-log.txt", 1, 1),
        (LOG, 40, 5),
    ]
    assert answer.total_matches == 41
    assert answer.truncated
    assert answer.truncation_info is not None
    assert (answer.truncation_info.original_count, answer.truncation_info.returned_count) == (41, 6)
    assert answer.coverage_report.files_scanned == 32


def test_every_match_reads_back_with_its_number_time_and_digest(library: Library) -> None:
    for result in details(search(library, SearchRequest(instance_id=INSTANCE, query="KAPUT|end$"))):
        for line in (match.line for match in result.additional_matches):
            stored = read(library, ReadRequest(log_key=result.full_key, start_line=line, line_count=1))
            match = next(match for match in result.additional_matches if match.line == line)
            assert stored.content.rstrip("\r\n") == match.excerpt
            assert (stored.start_byte, match.byte_offset.start) == (match.byte_offset.start, stored.start_byte)
        assert result.evidence.timestamp is not None
        assert result.severity in (Severity.HIGH, Severity.CRITICAL)


def test_log_types_narrow_a_search_and_an_unknown_one_is_refused(library: Library) -> None:
    narrowed = search(library, SearchRequest(instance_id=INSTANCE, query="KAPUT", log_types=["containerd"]))
    assert [each.file for each in details(narrowed)] == ["containerd/containerd-log.txt"]
    assert narrowed.coverage_report.total_files == 1
    with pytest.raises(InputRefused, match="nonsense"):
        search(library, SearchRequest(instance_id=INSTANCE, query="KAPUT", log_types=["containerd", "nonsense"]))


def test_a_file_that_is_gone_is_a_gap_of_the_search(library: Library) -> None:
    tamper(library, "var_log/7.log", None)
    answer = search(library, SearchRequest(instance_id=INSTANCE, query="ODD"))
    assert answer.total_matches == 29
    assert any("var_log/7.log" in gap for gap in answer.gaps)
    assert answer.coverage_report.skipped_files[0].file == "var_log/7.log"


def test_the_same_search_has_the_same_id_and_answer(library: Library) -> None:
    request = SearchRequest(instance_id=INSTANCE, query="ODD")
    assert search(library, request) == search(library, request)


# summarize and verify_report


def test_a_summary_holds_what_was_asked_for_re_read(library: Library) -> None:
    answer = summarize(library, SummarizeRequest(instance_id=INSTANCE, finding_ids=["F-002", "F-001"]))
    assert answer.finding_ids_resolved == 2
    assert [each.severity for each in answer.findings] == ["critical", "high"]
    assert all(set(each.finding_ids) <= {"F-001", "F-002"} and each.finding_ids for each in answer.recommendations)
    assert answer.recommendations
    assert answer.caveat
    without = SummarizeRequest(instance_id=INSTANCE, finding_ids=["F-001"], include_recommendations=False)
    assert summarize(library, without).recommendations == []


def test_a_summary_of_nothing_is_refused(library: Library) -> None:
    with pytest.raises(InputRefused) as refused:
        summarize(library, SummarizeRequest(instance_id=INSTANCE))
    assert "errors or search first" in refused.value.hint


def test_unknown_ids_are_refused_by_name(library: Library) -> None:
    with pytest.raises(InputRefused, match=r"F-999.*S-001") as refused:
        summarize(library, SummarizeRequest(instance_id=INSTANCE, finding_ids=["F-001", "F-999", "S-001"]))
    assert "F-001" in refused.value.hint


def test_evidence_that_changed_is_an_error_that_names_it(library: Library) -> None:
    tamper(library, "containerd/containerd-log.txt", b"Jan 15 10:01:30 ip containerd[1]: KAPUT as w3ll\n")
    changed = next(
        f.finding_id
        for f in errors(library, ErrorsRequest(instance_id=INSTANCE)).findings
        if isinstance(f, Finding) and f.evidence.source_file.startswith("containerd")
    )
    with pytest.raises(InputRefused, match=changed):
        summarize(library, SummarizeRequest(instance_id=INSTANCE, finding_ids=["F-001", changed]))


def test_what_a_search_found_can_be_summarized_and_verified(library: Library) -> None:
    found = search(library, SearchRequest(instance_id=INSTANCE, query="quiet"))
    answer = summarize(library, SummarizeRequest(instance_id=INSTANCE, finding_ids=["S-001", "F-001"]))
    assert answer.finding_ids_resolved == 2
    late = details(found)[0].additional_matches[-1]
    claim = ReportClaim(finding_id="S-001", quote=late.excerpt)
    judged = verify_report(library, VerifyReportRequest(instance_id=INSTANCE, claims=[claim]))
    assert (judged.all_hold, judged.claims[0].line) == (True, late.line)


def test_an_s_id_of_several_searches_wants_its_search_id(library: Library) -> None:
    first = search(library, SearchRequest(instance_id=INSTANCE, query="quiet"))
    search(library, SearchRequest(instance_id=INSTANCE, query="ODD 1"))
    with pytest.raises(InputRefused, match="search_id"):
        summarize(library, SummarizeRequest(instance_id=INSTANCE, finding_ids=["S-001"]))
    request = SummarizeRequest(instance_id=INSTANCE, finding_ids=["S-001"], search_id=first.search_id)
    assert summarize(library, request).findings[0].pattern == "quiet"


def test_a_report_that_rests_on_several_searches_can_hold(library: Library, tmp_path: Path) -> None:
    quiet = search(library, SearchRequest(instance_id=INSTANCE, query="quiet"))
    odd = search(library, SearchRequest(instance_id=INSTANCE, query="ODD 1$"))
    claims = [
        ReportClaim(finding_id="S-001", quote="ip kubelet[1]: quiet", search_id=quiet.search_id),
        ReportClaim(finding_id="S-001", quote="ODD 1", search_id=odd.search_id),
        ReportClaim(finding_id="F-001", quote="DEAD"),
    ]
    answer = verify_report(library, VerifyReportRequest(instance_id=INSTANCE, claims=claims))
    assert (answer.all_hold, [each.file for each in answer.claims]) == (True, [LOG, "var_log/1.log", LOG])
    assert answer.coverage_report.files_scanned == 2
    crossed = [claims[0].model_copy(update={"search_id": odd.search_id}), claims[1]]
    verdicts = verify_report(library, VerifyReportRequest(instance_id=INSTANCE, claims=crossed)).claims
    assert [each.verdict for each in verdicts] == [ClaimVerdict.QUOTE_NOT_FOUND, ClaimVerdict.HOLDS]
    default = VerifyReportRequest(
        instance_id=INSTANCE,
        search_id=odd.search_id,
        claims=[claims[0], claims[1].model_copy(update={"search_id": None})],
    )
    assert verify_report(library, default).all_hold
    shelve(library, tmp_path / "later", {**FILES, LOG: LINES})
    newer = search(library, SearchRequest(instance_id=INSTANCE, query="quiet"))
    mixed = [claims[1], claims[0].model_copy(update={"search_id": newer.search_id})]
    with pytest.raises(InputRefused, match="was made on index"):
        verify_report(library, VerifyReportRequest(instance_id=INSTANCE, claims=mixed))


def test_each_claim_gets_its_own_verdict(library: Library) -> None:
    tamper(library, "containerd/containerd-log.txt", b"nothing left\n")
    rows = errors(library, ErrorsRequest(instance_id=INSTANCE)).findings
    by_file = {f.evidence.source_file: f for f in rows if isinstance(f, Finding)}
    kept, gone = by_file[LOG], by_file["containerd/containerd-log.txt"]
    claims = [
        ReportClaim(finding_id=kept.finding_id, quote=kept.evidence.excerpt, text="it broke"),
        ReportClaim(finding_id=kept.finding_id, quote="never written anywhere"),
        ReportClaim(finding_id=kept.finding_id, quote=""),
        ReportClaim(finding_id="F-777", quote="KAPUT"),
        ReportClaim(finding_id=gone.finding_id, quote=gone.evidence.excerpt),
    ]
    answer = verify_report(library, VerifyReportRequest(instance_id=INSTANCE, claims=claims))
    assert [each.verdict for each in answer.claims] == [
        ClaimVerdict.HOLDS,
        ClaimVerdict.QUOTE_NOT_FOUND,
        ClaimVerdict.QUOTE_NOT_FOUND,
        ClaimVerdict.UNKNOWN_ID,
        ClaimVerdict.EVIDENCE_CHANGED,
    ]
    assert (answer.all_hold, answer.held, answer.refuted) == (False, 1, 4)
    assert all(each.reason for each in answer.claims[1:])


def test_a_quote_of_any_listed_occurrence_holds_at_its_line(library: Library) -> None:
    finding = next(f for f in errors(library, ErrorsRequest(instance_id=INSTANCE)).findings if f.count == 40)
    claim = ReportClaim(finding_id=finding.finding_id, quote="10:00:44 ip kubelet[1]: KAPUT")
    judged = verify_report(library, VerifyReportRequest(instance_id=INSTANCE, claims=[claim])).claims[0]
    assert (judged.verdict, judged.line) == (ClaimVerdict.HOLDS, 45)


# the rest


def test_files_are_listed_with_their_keys_and_a_link_leads_to_one(library: Library) -> None:
    answer = list_bundle_files(library, ListBundleFilesRequest(instance_id=INSTANCE, under="kubelet/"))
    assert [(file.path, file.scanned, file.size_bytes) for file in answer.files] == [(LOG, True, len(FILES[LOG]))]
    link = artifact(library, ArtifactRequest(log_key=answer.files[0].key))
    assert Path(link.url).read_bytes() == FILES[LOG]
    with pytest.raises(InputRefused):
        artifact(library, ArtifactRequest(log_key="eks_i-0123456789abcdef0/../secret"))
    with pytest.raises(ValidationError):
        ArtifactRequest(log_key="x", expiration_minutes=16)


@pytest.mark.parametrize("kept", ["metadata/home.json", "metadata/indexes/x.json", "searches/x.json"])
def test_no_link_leads_to_what_is_kept_beside_the_bundles(library: Library, kept: str) -> None:
    key = f"eks_{INSTANCE}/{kept}"
    library.objects.put(key, b"{}", purpose="test")
    with pytest.raises(InputRefused, match="no file of a bundle"):
        artifact(library, ArtifactRequest(log_key=key))


def test_a_file_that_could_not_be_scanned_is_not_called_scanned_however_many_there_are(tmp_path: Path) -> None:
    """The index lists twenty of what it skipped: a log that is not text is the twenty-first."""
    library = a_library(tmp_path)
    broken = {f"var_log/x{n}.log.gz": b"\x1f\x8bgarbage" for n in range(20)}
    shelve(library, tmp_path / "in", {**broken, LOG: b"KAPUT\n", "var_log/core.log": b"\0\1\2" * 3000})
    answer = list_bundle_files(library, ListBundleFilesRequest(instance_id=INSTANCE))
    scanned = {file.path: file.scanned for file in answer.files}
    assert answer.coverage_report.skipped_total == 21 and answer.coverage_report.files_scanned == 1
    assert scanned["var_log/x3.log.gz"] is False
    assert scanned["var_log/core.log"] is False and scanned[LOG] is True


def test_a_file_that_was_scanned_is_called_so_when_every_other_is_accounted_for(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    shelve(library, tmp_path / "in", {LOG: b"KAPUT\n", "var_log/core.log": b"\0\1\2" * 3000})
    answer = list_bundle_files(library, ListBundleFilesRequest(instance_id=INSTANCE))
    assert {file.path: file.scanned for file in answer.files} == {LOG: True, "var_log/core.log": False}


def test_a_key_of_the_known_layout_finds_the_file_of_a_bundle_that_lies_elsewhere(
    library: Library, tmp_path: Path
) -> None:
    shelve(library, tmp_path / "newer", {LOG: b"DEAD\n", "var_log/new.log": b"only here\n"})
    answer = read(library, ReadRequest(log_key=f"eks_{INSTANCE}/extracted/var_log/new.log"))
    assert answer.content == "only here\n"
    assert "/bundles/" in answer.log_key
    assert read(library, ReadRequest(log_key=f"eks_{INSTANCE}/extracted/{LOG}", line_count=1, start_line=1)).content


def test_correlate_places_findings_in_time(library: Library) -> None:
    answer = correlate(library, CorrelateRequest(instance_id=INSTANCE))
    assert [event.severity for event in answer.timeline] == ["high", "critical", "high"]
    assert [cluster.cluster_id for cluster in answer.clusters] == ["C-001"]
    assert any("30 findings have no time" in gap for gap in answer.confidence.gaps)
    pivot = correlate(library, CorrelateRequest(instance_id=INSTANCE, pivot_event="dead", time_window=1))
    assert [event.severity for event in pivot.timeline] == ["critical"]
    with pytest.raises(InputRefused, match="nothing like it"):
        correlate(library, CorrelateRequest(instance_id=INSTANCE, pivot_event="nothing like it"))


def test_triage_is_bounded_and_says_what_is_damaged(library: Library) -> None:
    tamper(library, "var_log/7.log", b"")
    answer = quick_triage(library, QuickTriageRequest(instance_id=INSTANCE))
    assert answer.truncated
    assert (answer.bundle.complete, answer.bundle.corrupted_total) == (False, 1)
    assert "not whole" in answer.confidence.gaps[0]
    (step,) = [step for step in answer.next_steps if step.tool == "validate"]
    assert validate(library, ValidateRequest.model_validate(step.arguments)).corrupted_total == 1


def test_triage_shows_each_rule_once_with_the_other_files_that_show_it(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = QuickTriageRequest(instance_id=INSTANCE)
    answer = quick_triage(library, asked)
    dead, kaput, odd = answer.top_findings
    assert [dead.pattern, kaput.pattern, odd.pattern] == ["It is dead", "It is kaput", "It is odd"]
    assert (dead.also_in, [place.source_file for place in kaput.also_in]) == ([], ["containerd/containerd-log.txt"])
    assert (len(odd.also_in), odd.also_in_total) == (3, 29)
    ids = {dead.finding_id, *(each.finding_id for row in (kaput, odd) for each in (row, *row.also_in))}
    assert answer.truncated and answer.truncation_info is not None
    assert (answer.truncation_info.original_count, answer.truncation_info.returned_count) == (33, len(ids)) == (33, 7)
    monkeypatch.setattr("affidavit.nodes.questions.quick_triage.TOP_FINDINGS", 2)
    assert quick_triage(library, asked).top_findings == [dead, kaput]


def test_triage_counts_every_damaged_file_however_few_are_listed(
    library: Library,
) -> None:
    for number in range(5):
        tamper(library, f"var_log/{number}.log", b"" if number < 3 else None)
    checked = validate(library, ValidateRequest(instance_id=INSTANCE).model_copy(update={"max_bytes": 1300}))
    assert 0 < len(checked.corrupted_files) <= checked.corrupted_total == 3
    assert len(checked.missing_files) < checked.missing_total == 2
    assert checked.truncation_info is not None and checked.truncation_info.original_count == 5
    assert checked.coverage_report.missing_files == ["var_log/3.log", "var_log/4.log"]
    bundle = quick_triage(library, QuickTriageRequest(instance_id=INSTANCE)).bundle
    assert (bundle.corrupted_total, bundle.missing_total) == (3, 2)


SIGNALS = (
    *("network.ip-exhaustion", "network.cni", "workload.sandbox", "node.runtime", "node.ready", "kernel.hang"),
    *("service.failure", "workload.probe", "workload.stop"),
)


def test_triage_that_leaves_out_a_chain_or_a_gap_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [a_rule(f"test.r{n}", f"TROUBLE{n}", signal=signal) for n, signal in enumerate(SIGNALS)]
    library = a_library(tmp_path, knowledge=Knowledge(pack=a_pack(*rules), checks=()))
    lines = [b"Jan 15 10:00:%02d ip kubelet[1]: TROUBLE%d\n" % (n, n) for n in range(len(SIGNALS))]
    shelve(library, tmp_path / "in", {LOG: b"".join(lines)})
    asked = QuickTriageRequest(instance_id=INSTANCE, max_bytes=24_000)
    answer = quick_triage(library, asked)
    chains = correlate(library, CorrelateRequest(instance_id=INSTANCE)).potential_root_cause_chains
    assert len(answer.top_findings) == len(SIGNALS) < len(chains) + len(SIGNALS) and len(chains) > 5
    assert answer.potential_root_cause_chains == chains[:3]
    assert answer.truncated and answer.truncation_info is not None
    assert (answer.truncation_info.original_count, answer.truncation_info.returned_count) == (len(chains), 3)
    assert "correlate" in answer.truncation_info.next_step

    monkeypatch.setattr("affidavit.nodes.questions.quick_triage._CHAINS", len(chains))
    assert not quick_triage(library, asked).truncated
    tamper(library, LOG, b"")
    monkeypatch.setattr("affidavit.nodes.questions.quick_triage._GAPS", 0)
    shortened = quick_triage(library, asked)
    assert shortened.truncated and shortened.confidence.gaps[0].startswith("1 more gaps")


def test_nodes_are_compared_by_what_they_show(library: Library, tmp_path: Path) -> None:
    shelve(library, tmp_path / "other", {LOG: b"KAPUT\n", "var_log/x.log": b"fine\n"}, instance=OTHER)
    unknown = "i-0bbbbbbbbbbbbbbbb"
    answer = compare_nodes(library, CompareNodesRequest(instance_ids=[INSTANCE, OTHER, unknown]))
    assert [each.pattern for each in answer.common] == ["It is kaput"]
    assert [(each.pattern, each.absent_on) for each in answer.partial] == [
        ("It is dead", [OTHER]),
        ("It is odd", [OTHER]),
    ]
    assert answer.without_bundle == [unknown]
    assert any(unknown in gap for gap in answer.confidence.gaps)
    health = cluster_health(library, ClusterHealthRequest(cluster_name="prod"))
    assert [(node.rank, node.instance_id) for node in health.nodes] == [(1, INSTANCE), (2, OTHER)]
    assert health.confidence.basis.endswith(f", {sum(node.summary.total for node in health.nodes)} findings")
    unconfirmed = [gap for gap in health.confidence.gaps if "rests on one source" in gap]
    assert unconfirmed == [f"{INSTANCE} F-001 (It is dead) is critical and rests on one source"]
    with pytest.raises(NotFound):
        cluster_health(library, ClusterHealthRequest(cluster_name="nowhere"))


# diagnostics, on a made-up node with the real rules


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load_knowledge()


def diagnosed(tmp_path: Path, knowledge: Knowledge, files: dict[str, bytes]) -> dict[str, tuple[CheckStatus, int]]:
    library = a_library(tmp_path, knowledge=knowledge)
    shelve(library, tmp_path / "in", files)
    request = DiagnosticsRequest(instance_id=INSTANCE)
    answers: list[DiagnosticsAnswer] = [network_diagnostics(library, request), storage_diagnostics(library, request)]
    return {each.check: (each.status, len(each.evidence)) for answer in answers for each in answer.checks}


def test_a_check_is_not_available_when_the_bundle_does_not_tell(tmp_path: Path, knowledge: Knowledge) -> None:
    found = diagnosed(tmp_path, knowledge, {"system/instance-id.txt": INSTANCE.encode(), "kubelet/kubelet.log": b"x\n"})
    told = {name for name, (status, _) in found.items() if status is not CheckStatus.NOT_AVAILABLE}
    assert told == {"volumes", "pressure"}  # the kubelet's log is there and shows neither


def test_checks_pass_with_the_line_that_shows_it_and_fail_by_findings(tmp_path: Path, knowledge: Knowledge) -> None:
    files = {
        "kubelet/kubelet.log": b"x\n",
        "networking/iproute.txt": b"default via 10.0.1.1 dev ens5\n",
        "networking/resolv.conf": b"nameserver 10.0.0.2\n",
        "networking/ifconfig.txt": b"ens5: flags=4163<UP,RUNNING>  mtu 9001\n\nens6: flags=4163<UP>  mtu 1500\n",
        "storage/mounts.txt": b"Filesystem Size Used Avail Use% Mounted on\n/dev/nvme0n1p1 80G 80G 0G 100% /\n",
    }
    found = diagnosed(tmp_path, knowledge, files)
    assert found["routes"] == (CheckStatus.PASS, 1)
    assert found["dns"] == (CheckStatus.PASS, 1)
    assert found["mtu"] == (CheckStatus.WARN, 2)
    assert found["disk-space"][0] is CheckStatus.FAIL
    assert found["inodes"][0] is CheckStatus.NOT_AVAILABLE


def test_the_state_is_found_wherever_in_its_file_it_stands(tmp_path: Path, knowledge: Knowledge) -> None:
    routes = (
        b"10.0.0.0/24 dev ens5\n" * 100_000
        + b"default via "
        + b"x" * (2 << 20)
        + b"\ndefault via 10.0.1.1 dev ens5\r\n"
    )
    mtus = b"ens5: flags=4163<UP>  mtu 9001\n" * 50_000 + b"ens6: flags=4163<UP>  mtu 1500"
    library = a_library(tmp_path, knowledge=knowledge)
    shelve(library, tmp_path / "in", {"networking/iproute.txt": routes, "networking/ifconfig.txt": mtus})
    answer = network_diagnostics(library, DiagnosticsRequest(instance_id=INSTANCE))
    found = {each.check: each for each in answer.checks}
    assert (found["routes"].status, found["routes"].evidence[0].excerpt) == (CheckStatus.PASS, routes[-31:-2].decode())
    assert found["routes"].evidence[0].line_range.start == 100_002
    assert (found["mtu"].status, found["mtu"].detail) == (CheckStatus.WARN, "interfaces differ: 1500, 9001")
    assert len(found["mtu"].evidence) == 5


def test_a_file_that_is_lost_is_not_called_absent(tmp_path: Path, knowledge: Knowledge) -> None:
    library = a_library(tmp_path, knowledge=knowledge)
    shelve(library, tmp_path / "in", {"networking/iproute.txt": b"default via 10.0.1.1 dev ens5\n"})
    tamper(library, "networking/iproute.txt", None)
    answer = network_diagnostics(library, DiagnosticsRequest(instance_id=INSTANCE))
    details = {each.check: (each.status, each.detail) for each in answer.checks}
    assert details["routes"] == (CheckStatus.NOT_AVAILABLE, "networking/iproute.txt cannot be read")
    assert details["dns"] == (CheckStatus.NOT_AVAILABLE, "the bundle has none of networking/resolv.conf")


def test_every_rule_and_signal_that_diagnostics_name_exists(knowledge: Knowledge) -> None:
    rules, signals = {rule.id for rule in knowledge.rules}, {rule.signal for rule in knowledge.rules}
    for areas in known_areas().values():
        for area in areas:
            assert set(area.rules) <= rules
            assert set(area.signals) <= signals


def test_every_answer_about_a_vanished_store_is_an_error_and_not_health(library: Library, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "objects")
    with pytest.raises(AffidavitError):
        errors(library, ErrorsRequest(instance_id=INSTANCE))
