"""The verdict: a cause leads because it explains, and nothing is blamed that is not seen."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zlib import crc32

import pytest

from affidavit.evidence.confidence import Confidence, Level
from affidavit.evidence.finding import Episode, Evidence, FaultState, Finding, LineRange, NamedEntity, Occurrence
from affidavit.evidence.node_verdict import NodeVerdict, Refutation, VerdictState
from affidavit.evidence.severity import Severity
from affidavit.knowledge import load_knowledge
from affidavit.verdict.conclude import Fact, VerdictInput, conclude
from affidavit.verdict.graph_sample_checks import known_graph

START = datetime(2026, 1, 15, 10, tzinfo=UTC)
COLLECTED = START + timedelta(hours=3)
KNOWLEDGE = load_knowledge()


def seen(
    rule_id: str,
    minute: float | None,
    *,
    until: float = 170,
    state: FaultState = FaultState.OPEN,
    file: str = "",
    lines: Sequence[int] = (),
    names: dict[str, str] | None = None,
    detail: str | None = None,
) -> Finding:
    """A finding of a real rule, `minute` after the start; None for what was measured at the collection."""
    rule = KNOWLEDGE.rule(rule_id)
    component = rule_id.partition(".")[0]
    own = lines or [crc32(rule_id.encode()) + 1]
    first = START + timedelta(minutes=minute) if minute is not None else None
    return Finding(
        finding_id="",
        rule=rule.id,
        severity=rule.severity,
        pattern=rule.name,
        description=rule.means,
        component=component,
        signal=rule.signal,
        count=len(own),
        first_seen=first,
        last_seen=START + timedelta(minutes=until) if minute is not None else None,
        evidence=Evidence(
            source_file=file or f"{component}/{component}.log",
            full_key="",
            excerpt="",
            line_range=LineRange(start=own[0], end=own[0]),
            byte_offset=None,
            timestamp=first,
            sha256=None,
        ),
        additional_occurrences=tuple(Occurrence(line=line, byte_offset=None, timestamp=None) for line in own[1:]),
        state=state,
        detail=detail if detail is not None else ("measured" if minute is None else None),
        entities=tuple(NamedEntity(kind=kind, name=name) for kind, name in (names or {}).items()),
    )


def verdict_on(*findings: Finding, files: Sequence[str] = (), facts: Sequence[Fact] = ()) -> NodeVerdict:
    numbered = [replace(finding, finding_id=f"F-{number:03d}") for number, finding in enumerate(findings, 1)]
    return conclude(
        VerdictInput(
            findings=numbered,
            files=files,
            collected_at=COLLECTED,
            booted_at=START - timedelta(days=3),
            confidence=Confidence(level=Level.HIGH, basis="a test", gaps=()),
            facts=facts,
            first_steps={rule.id: rule.first_steps[0] for rule in KNOWLEDGE.rules},
        ),
        known_graph(),
    )


def leads(verdict: NodeVerdict) -> list[str]:
    return [cause.evidence[0] for cause in verdict.root_causes]


def test_a_full_disk_without_a_time_leads_over_the_evictions_it_explains() -> None:
    verdict = verdict_on(
        seen("kubelet.pod-evicted", 0), seen("kubelet.disk-pressure", 1), seen("storage.disk-full", None)
    )
    assert leads(verdict) == ["F-003"]
    (cause,) = verdict.root_causes
    assert (cause.since, cause.still_open, set(cause.explains)) == (None, True, {"F-001", "F-002"})
    assert cause.first_step == KNOWLEDGE.rule("storage.disk-full").first_steps[0]
    assert {(link.cause, link.effect, link.clock_seconds) for link in cause.proof} >= {("F-003", "F-001", None)}


def test_a_measured_cause_explains_what_came_before_its_first_dated_line() -> None:
    effect, line = seen("kubelet.image-gc-failed", 0, until=170), seen("any.no-space-left", 120, until=170)
    verdict = verdict_on(effect, line, seen("storage.disk-full", None))
    assert (verdict.root_causes[0].explains, verdict.unexplained) == (("F-001",), ())
    (left,) = verdict_on(effect, line).unexplained
    assert left.finding_ids == ("F-001",), "a line alone, two hours later, explains nothing"


@pytest.mark.parametrize(
    ("files", "is_named"), [(("kubelet/kubelet.log",), False), (("system/system-eventlogs.csv",), True)]
)
def test_a_cause_that_only_windows_has_is_named_on_windows_alone(files: tuple[str, ...], is_named: bool) -> None:
    (left,) = verdict_on(seen("kubelet.container-runtime-down", 0, until=170), files=files).unexplained
    assert any("Windows" in each.cause for each in left.could_be) is is_named


def test_a_quiet_verdict_names_the_errors_that_nobody_judged() -> None:
    verdict = verdict_on(seen("any.unlisted-error", 0, until=170))
    assert verdict.state is VerdictState.QUIET
    assert "errors in words that no rule knows are not judged (F-001)" in verdict.summary
    assert verdict.gaps == ("F-001 tells of errors in words that no rule knows",)
    start = verdict_on(seen("any.unlisted-error", 0, state=FaultState.STARTUP))
    assert ("no rule knows" in start.summary, start.gaps) == (False, ())


def test_the_order_of_lines_does_not_make_an_effect_the_cause() -> None:
    verdict = verdict_on(
        seen("kubelet.pleg-not-healthy", 0),
        seen("any.request-timeout", 0),
        seen("kernel.oom-killer-invoked", 6, names={"victim": "java"}),
    )
    assert leads(verdict) == ["F-003"]
    assert "java" in verdict.summary


def test_a_cause_that_began_long_after_the_effect_is_an_alternative_not_the_cause() -> None:
    verdict = verdict_on(
        seen("kubelet.sandbox-creation-failed", 0, until=170), seen("cni.subnet-addresses-exhausted", 150, until=170)
    )
    # The subnet is a fault of its own, but does not explain sandboxes that failed two hours earlier.
    assert verdict.root_causes[0].explains == ()
    assert [entry.finding_ids for entry in verdict.unexplained] == [("F-001",)]
    assert verdict.unexplained[0].cause_unknown


def test_independent_faults_are_told_apart() -> None:
    verdict = verdict_on(
        seen("kernel.memory-cgroup-oom", 0),
        seen("kubelet.crash-loop", 1),
        seen("any.aws-access-denied", 90, file="ipamd.log"),
        seen("cni.no-available-ip", 91),
        seen("kubelet.sandbox-creation-failed", 92, file="sandbox.log"),
    )
    assert sorted(leads(verdict)) == ["F-001", "F-003"]
    by_lead = {cause.evidence[0]: set(cause.explains) for cause in verdict.root_causes}
    assert by_lead == {"F-001": {"F-002"}, "F-003": {"F-004", "F-005"}}


def test_a_line_that_names_its_cause_needs_no_other() -> None:
    """The sandbox error says that no address was left, so a full disk does not explain it as well."""
    verdict = verdict_on(
        seen("storage.disk-full", None),
        seen("kubelet.pod-evicted", 0),
        seen("cni.subnet-addresses-exhausted", 20),
        seen("cni.ip-assignment-failed", 21, file="kubelet.log", lines=[7, 8]),
        seen("kubelet.sandbox-creation-failed", 21, file="kubelet.log", lines=[7, 8]),
    )
    by_lead = {cause.evidence[0]: set(cause.explains) for cause in verdict.root_causes}
    assert by_lead == {"F-001": {"F-002"}, "F-003": {"F-004", "F-005"}}


def test_a_container_at_its_limit_is_one_fault_and_not_the_nodes() -> None:
    verdict = verdict_on(
        seen("kernel.oom-killer-invoked", 0), seen("kernel.memory-cgroup-oom", 0), seen("containerd.task-oom", 0)
    )
    (cause,) = verdict.root_causes
    assert (cause.fault_type.value, cause.evidence[0]) == ("workload", "F-002")
    assert verdict.faults == 2  # the limit, and the kill it explains


def test_an_effect_without_its_cause_is_unexplained_and_names_the_files_that_would_tell() -> None:
    verdict = verdict_on(
        seen("cni.ip-assignment-failed", 0),
        seen("kubelet.sandbox-creation-failed", 0),
        files=["kubelet/kubelet.log", "containerd/containerd-log.txt"],
    )
    assert verdict.root_causes == ()
    (entry,) = verdict.unexplained
    assert entry.cause_unknown
    assert "var_log/aws-routed-eni/ipamd.log" in entry.absent
    assert "The subnet has no free addresses" in [each.cause for each in entry.could_be]
    assert verdict.confidence.level is Level.LOW
    assert "ipamd.log" in verdict.summary


def test_a_file_that_was_read_speaks_against_a_candidate() -> None:
    files = ["var_log/aws-routed-eni/ipamd.log", "ipamd/enis.json"]
    verdict = verdict_on(seen("cni.ip-assignment-failed", 0), files=files)
    against = {each.cause: each.speaks_against for each in verdict.unexplained[0].could_be}
    assert against["The subnet has no free addresses"]


def test_what_is_over_planned_or_a_start_never_leads_over_what_is_open() -> None:
    for state in (FaultState.RECOVERED, FaultState.OVER, FaultState.PLANNED, FaultState.STARTUP):
        verdict = verdict_on(
            seen("any.no-space-left", 0, until=10, state=state),
            seen("any.certificate-expired", 100),
            seen("kubelet.node-not-ready", 101),
        )
        assert leads(verdict)[0] == "F-002", state
        assert "F-001" not in verdict.root_causes[0].explains
        assert [cause.still_open for cause in verdict.root_causes] == [True, False][: len(verdict.root_causes)]
        # Nothing says that it was mended, so it is not passed over.
        assert ("F-001" in leads(verdict)) == (state is FaultState.OVER), state


def test_an_independent_fault_that_ended_is_told_with_what_followed_from_it() -> None:
    verdict = verdict_on(
        seen("kernel.memory-cgroup-oom", 0, until=20, state=FaultState.OVER),
        seen("kubelet.crash-loop", 1, until=21, state=FaultState.OVER),
        seen("cni.subnet-addresses-exhausted", 150),
        seen("kubelet.sandbox-creation-failed", 151),
    )
    assert leads(verdict) == ["F-003", "F-001"]
    assert [cause.explains for cause in verdict.root_causes] == [("F-004",), ("F-002",)]
    assert [cause.still_open for cause in verdict.root_causes] == [True, False]


def test_a_change_that_explains_no_more_than_a_cause_does_is_not_told_beside_it() -> None:
    cause, change = seen("any.inotify-limit-reached", 99), seen("system.operator-action", 100)
    effect = seen("systemd.node-service-failed", 101)
    assert leads(verdict_on(cause, change, effect)) == ["F-001"]
    assert leads(verdict_on(change, effect)) == ["F-001"]


def test_a_slight_effect_that_nothing_explains_swallows_no_fault() -> None:
    slight = replace(seen("any.dns-timeout", 0), severity=Severity.LOW)
    verdict = verdict_on(slight, seen("kubelet.credential-provider-failed", 10))
    assert leads(verdict) == ["F-002"]


def test_a_fault_that_is_over_is_told_as_over_where_nothing_is_open() -> None:
    verdict = verdict_on(seen("kernel.panic", 0, until=0, state=FaultState.OVER))
    assert (leads(verdict), verdict.state) == (["F-001"], VerdictState.OVER)
    assert (verdict.root_causes[0].still_open, verdict.root_causes[0].until) == (False, START)


def test_a_setting_is_a_cause_only_of_what_follows_from_it() -> None:
    alone = verdict_on(seen("networking.ena-conntrack-allowance-exceeded", None))
    assert alone.root_causes == ()
    assert [entry.cause_unknown for entry in alone.unexplained] == [False]
    with_effect = verdict_on(seen("networking.ena-conntrack-allowance-exceeded", None), seen("any.io-timeout", 0))
    assert leads(with_effect) == ["F-001"]


def test_an_info_finding_can_be_the_cause_when_the_same_name_server_is_meant() -> None:
    setting = seen("networking.name-server-custom", None, names={"nameserver": "192.168.50.1"})
    same = verdict_on(setting, seen("any.dns-timeout", 0, names={"nameserver": "192.168.50.1"}))
    assert leads(same) == ["F-001"]
    other = verdict_on(setting, seen("any.dns-timeout", 0, names={"nameserver": "10.0.0.2"}))
    assert other.root_causes == ()


def test_a_measurement_refutes_what_only_a_line_claims_and_is_cited() -> None:
    line = Evidence(
        source_file="storage/mounts.txt",
        full_key="k",
        excerpt="/dev/nvme0n1p1 80G 33G 47G 41% /",
        line_range=LineRange(start=2, end=2),
        byte_offset=None,
        timestamp=None,
        sha256="0" * 64,
    )
    fact = Fact(id="disk-has-room", refutation=Refutation(says="41 % of the space of / is used", evidence=line))
    verdict = verdict_on(seen("any.no-space-left", 0), seen("containerd.sandbox-failed", 1), facts=[fact])
    assert verdict.root_causes == ()
    (other,) = verdict.alternatives
    assert (other.finding_ids, other.against[0].evidence) == (("F-001",), line)
    assert "41 %" in other.why_less_likely
    measured = verdict_on(seen("storage.disk-full", None), seen("containerd.sandbox-failed", 1), facts=[fact])
    assert leads(measured) == ["F-001"]


def test_kernel_lines_that_drifted_still_explain_what_came_minutes_before() -> None:
    kernel = seen("kernel.block-io-error", 8, until=9, file="kernel/dmesg.current")
    verdict = verdict_on(kernel, seen("any.input-output-error", 0), seen("containerd.sandbox-failed", 0, file="c.log"))
    assert leads(verdict) == ["F-001"]
    (first, *_) = verdict.root_causes[0].proof
    assert first.clock_seconds is not None and first.clock_seconds > 480


def test_after_a_clock_was_set_back_the_order_of_lines_in_a_log_decides() -> None:
    """The disk filled, the clock was set back, the pods were evicted: at a time before the disk filled."""
    full = seen("any.no-space-left", 60, file="messages", lines=[10])
    evicted = seen("kubelet.pod-evicted", 5, file="messages", lines=[30])
    step = seen("chrony.clock-far-off", 6, file="other")
    step = replace(step, evidence=replace(step.evidence, excerpt="System clock was stepped by -400.000000 seconds"))
    verdict = verdict_on(full, evicted, step)
    assert "F-002" in {effect for cause in verdict.root_causes for effect in cause.explains}
    assert "F-002" not in {effect for cause in verdict_on(full, evicted).root_causes for effect in cause.explains}
    other_order = replace(evicted, evidence=replace(evicted.evidence, line_range=LineRange(start=5, end=5)))
    causes = verdict_on(full, other_order, step).root_causes
    assert "F-002" not in {effect for cause in causes for effect in cause.explains}


def test_the_same_lines_with_the_systems_time_do_not_drift() -> None:
    findings = [
        seen("kernel.block-io-error", 8, until=9, file="kernel/dmesg.current"),
        seen("kernel.block-io-error", 8, until=9, file="var_log/messages"),
        seen("any.input-output-error", 0),
    ]
    findings[1] = replace(findings[1], component="kernel")
    verdict = verdict_on(*findings)
    assert "F-003" not in [found for cause in verdict.root_causes for found in cause.explains]


def test_a_quiet_bundle_is_never_called_healthy() -> None:
    verdict = verdict_on(files=["kubelet/kubelet.log"])
    assert (verdict.root_causes, verdict.unexplained, verdict.state) == ((), (), VerdictState.QUIET)
    assert "healthy" not in verdict.summary
    assert "1 files were looked at" in verdict.summary


def test_every_medium_finding_is_explained_is_a_cause_or_is_unexplained() -> None:
    findings = [seen(rule.id, index % 100) for index, rule in enumerate(KNOWLEDGE.rules)]
    verdict = verdict_on(*findings)
    told = verdict.finding_ids
    lost = [
        f"F-{number:03d} {finding.rule}"
        for number, finding in enumerate(findings, 1)
        if finding.severity.is_at_least(Severity.MEDIUM) and f"F-{number:03d}" not in told
    ]
    assert lost == []


def test_a_rule_that_the_graph_does_not_know_is_told_and_blamed_for_nothing() -> None:
    own = replace(seen("any.io-timeout", 0), rule="own.kaput", signal="own.kaput", pattern="Own fault")
    verdict = verdict_on(own)
    assert verdict.root_causes == ()
    assert [(entry.what, entry.cause_unknown) for entry in verdict.unexplained] == [("Own fault", False)]


def test_what_another_cause_explains_is_no_alternative() -> None:
    verdict = verdict_on(
        seen("cni.subnet-addresses-exhausted", 0),
        seen("cni.ip-assignment-failed", 1),
        seen("kubelet.sandbox-creation-failed", 1, file="s.log"),
        seen("kernel.nvme-timeout", 20),
        seen("kernel.block-io-error", 21),
        seen("storage.mount-refused", 22),
    )
    assert leads(verdict) == ["F-004", "F-001"] or leads(verdict) == ["F-001", "F-004"]
    assert verdict.alternatives == ()


def outbreaks(finding: Finding, *minutes: tuple[float, float], cleared: bool = False) -> Finding:
    """The finding with stretches of time of its own; the last one is what is open now."""
    at = [(START + timedelta(minutes=start), START + timedelta(minutes=end)) for start, end in minutes]
    episodes = tuple(Episode(start=start, end=end, count=1, cleared_at=end if cleared else None) for start, end in at)
    last = replace(episodes[-1], cleared_at=None)
    return replace(finding, episodes=(*episodes[:-1], last), since=at[-1][0])


def test_an_earlier_outbreak_of_a_cause_explains_what_followed_it() -> None:
    disk = outbreaks(seen("kernel.block-io-error", 10), (10, 12), (160, 170))
    verdict = verdict_on(disk, seen("kernel.filesystem-read-only", 10.5))
    assert leads(verdict) == ["F-001"]
    assert verdict.root_causes[0].since == START + timedelta(minutes=10)


def test_an_outbreak_that_a_line_ended_explains_nothing_later() -> None:
    disk = outbreaks(seen("kernel.block-io-error", 10), (10, 12), (160, 170), cleared=True)
    assert len(leads(verdict_on(disk, seen("kernel.filesystem-read-only", 60)))) == 2


def test_the_first_line_of_a_fault_leads_its_evidence_also_when_it_came_again() -> None:
    late = seen("any.imds-unreachable", 40, file="kubelet/kubelet.log")
    early = outbreaks(seen("any.imds-unreachable", 10, file="ipamd.log"), (10, 11), (150, 170))
    assert verdict_on(late, early).root_causes[0].evidence[0] == "F-002"


def test_a_name_server_is_blamed_only_when_pods_and_the_node_get_no_answer() -> None:
    pods, node = seen("coredns.upstream-timeout", 10), seen("any.dns-timeout", 12)
    assert leads(verdict_on(pods, node)) == ["F-001"]
    assert leads(verdict_on(pods)) == []
    assert verdict_on(pods).unexplained[0].cause_unknown


def test_a_fault_that_ended_leads_the_evidence_when_its_effects_began_before_what_is_still_open() -> None:
    lost = seen("chrony.not-synchronised", 10, until=12, state=FaultState.RECOVERED)
    off, refused = seen("chrony.clock-far-off", 120), seen("any.aws-request-time-wrong", 40)
    (cause,) = verdict_on(off, refused, lost).root_causes
    assert (cause.evidence[0], cause.since) == ("F-003", START + timedelta(minutes=10))
    assert verdict_on(off, seen("any.aws-request-time-wrong", 125), lost).root_causes[0].evidence[0] == "F-001"


def test_a_setting_explains_nothing_through_a_step_that_is_not_seen() -> None:
    setting, volume = seen("networking.name-server-custom", None), seen("storage.csi-call-failed", 20)
    assert leads(verdict_on(setting, volume)) == []
    assert leads(verdict_on(setting, volume, seen("any.dns-timeout", 20))) == ["F-001"]


def test_a_change_of_a_package_leads_what_broke_right_after_it() -> None:
    change = replace(
        seen("system.node-package-changed", 0),
        evidence=replace(seen("system.node-package-changed", 0).evidence, excerpt="yum[1]: Updated: containerd-2.0.2"),
    )
    broken = seen("kubelet.cannot-run", 2), seen("kubelet.container-runtime-down", 1)
    assert leads(verdict_on(change, *broken)) == ["F-001"]
    assert leads(verdict_on(change, seen("kernel.conntrack-table-full", 2))) == ["F-002"], "another matter"


def test_a_node_that_hung_is_explained_by_what_was_last_seen_with_its_trouble() -> None:
    """Nothing was logged for two hours before the collection, so no line could end the trouble."""
    hang = seen("kernel.soft-lockup", 0, until=8, state=FaultState.OVER)
    trouble = seen("kubelet.pleg-not-healthy", 4, until=6)
    assert leads(verdict_on(hang, trouble)) == ["F-001"]
    went_on = seen("kubelet.pleg-not-healthy", 4, until=170)
    assert leads(verdict_on(hang, went_on)) == [], "it went on without the hang"
    recovered = replace(hang, state=FaultState.RECOVERED)
    assert leads(verdict_on(recovered, trouble)) == [], "a line said that the hang was over"


def test_what_every_node_begins_in_may_be_older_than_its_cause() -> None:
    waiting = seen("kubelet.network-plugin-not-ready", 0)
    explained = verdict_on(waiting, seen("cni.subnet-addresses-exhausted", 2))
    assert (leads(explained), explained.unexplained) == (["F-002"], ())
    too_early = verdict_on(seen("kubelet.sandbox-creation-failed", 0), seen("cni.subnet-addresses-exhausted", 2))
    assert [entry.finding_ids for entry in too_early.unexplained] == [("F-001",)]


def test_lines_that_are_of_two_conditions_do_not_say_which_of_them_came_first() -> None:
    """A pull of the sandbox image that is refused is told by both; that it was deleted before explains both."""
    file, lines = "containerd/containerd-log.txt", (7, 9)
    missing = seen("containerd.sandbox-image-unavailable", 60, file=file, lines=lines)
    refused = seen("kubelet.image-pull-unauthorized", 60, file=file, lines=lines)
    deleted = seen("containerd.sandbox-image-deleted", 1)
    verdict = verdict_on(missing, refused, deleted)
    assert leads(verdict) == ["F-003"]
    assert set(verdict.root_causes[0].explains) == {"F-001", "F-002"}


def test_what_the_log_of_a_restarted_container_tells_may_be_older_than_its_first_line() -> None:
    loop = seen("kubelet.crash-loop", 0)
    pod = "var_log/kube-system_eks-pod-identity-agent-x_1f2e/eks-pod-identity-agent"
    silent = seen("pod-identity.cannot-listen", 150, file=f"{pod}/27.log")
    assert leads(verdict_on(loop, silent)) == ["F-002"]
    fresh = verdict_on(loop, seen("pod-identity.cannot-listen", 150, file=f"{pod}/1.log"))
    assert [entry.finding_ids for entry in fresh.unexplained] == [("F-001",)]


def test_a_usual_limit_confirms_the_fault_that_shows_and_does_not_lead_in_its_place() -> None:
    limit = seen("sysctls.conntrack-limit-low", None, detail="65536")
    full = seen("kernel.conntrack-table-full", 0)
    verdict = verdict_on(limit, full, seen("coredns.upstream-timeout", 1))
    assert [cause.evidence for cause in verdict.root_causes] == [("F-002", "F-001")]
    assert verdict.root_causes[0].explains == ("F-003",)


def test_what_was_measured_at_the_collection_stands_behind_the_kill_that_it_confirms() -> None:
    verdict = verdict_on(
        seen("system.memory-nearly-used", None),
        seen("systemd.node-service-oom-killed", 5, until=6, state=FaultState.RECOVERED),
        seen("kubelet.container-runtime-down", 6),
    )
    assert verdict.root_causes[0].evidence[:2] == ("F-002", "F-001")


def test_a_service_of_credentials_that_does_not_answer_leads_the_agent_that_cannot_start() -> None:
    said = "Post https://sts.us-gov-west-1.amazonaws.com/: dial tcp 10.20.7.44:443: i/o timeout"
    verdict = verdict_on(seen("cni.address-not-changed", 0, detail=said), seen("cni.ipamd-init-failed", 1))
    assert [root.cause for root in verdict.root_causes] == [
        "The service that gives out AWS credentials (STS) does not answer"
    ]
