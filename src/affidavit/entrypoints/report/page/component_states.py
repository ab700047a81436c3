"""Sums up each component: its worst finding, read without findings, or not readable."""

from collections.abc import Set
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from affidavit.bundle.file_roles import components
from affidavit.bundle.unpacked_bundle import StoredBundle
from affidavit.entrypoints.report.content import span_of
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity
from affidavit.index.filtered import View
from affidavit.investigation import Analysis

# The order in which an engineer asks about them. Others follow by name.
_USUAL = (
    *("kernel", "kubelet", "containerd", "cni", "coredns", "kube-proxy", "csi", "storage", "networking"),
    *("network-policy", "system", "systemd", "nodeadm", "cloud-init", "pod-identity", "node-monitoring"),
)
_KINDS_NAMED = 6
_ONLY_WHEN_THERE = frozenset({"other", "windows"})


class State(StrEnum):
    FOUND = "found"
    QUIET = "quiet"
    NOT_READ = "not_read"
    ABSENT = "absent"


@dataclass(frozen=True, kw_only=True)
class ComponentVerdict:
    """`span` is when findings of the worst severity were seen."""

    component: str
    state: State
    text: str
    findings: int = 0
    worst: Severity | None = None
    span: tuple[datetime, datetime] | None = None


@dataclass
class _Files:
    """`own` counts files of the component alone, `shared` logs of many programs that may hold its lines."""

    own: int = 0
    shared: int = 0
    unread: int = 0


def component_verdicts(view: View, analysis: Analysis) -> list[ComponentVerdict]:
    """Counts all findings, also those that the view hides: a component with hidden findings is not quiet."""
    files = _files_by_component(analysis.bundle, analysis.read)
    found: dict[str, list[Finding]] = {}
    for finding in view.index.findings:
        found.setdefault(finding.component, []).append(finding)
    hidden = {finding.component for finding in analysis.index.findings} - found.keys()
    names = {*_USUAL, *components() - _ONLY_WHEN_THERE, *files, *found, *hidden}
    verdicts = [_verdict(name, found.get(name, []), files.get(name, _Files()), name in hidden) for name in names]
    return sorted(verdicts, key=_rank)


def _verdict(name: str, findings: list[Finding], files: _Files, has_hidden: bool) -> ComponentVerdict:
    if findings:
        worst = min((finding.severity for finding in findings), key=lambda severity: severity.rank)
        return ComponentVerdict(
            component=name,
            state=State.FOUND,
            text=_named(findings),
            findings=len(findings),
            worst=worst,
            span=span_of(finding for finding in findings if finding.severity is worst),
        )
    if has_hidden:
        return ComponentVerdict(component=name, state=State.QUIET, text="has findings, all left out of this report")
    state, text = _without_findings(files)
    return ComponentVerdict(component=name, state=state, text=text)


def _without_findings(files: _Files) -> tuple[State, str]:
    unread = f"; {_counted(files.unread)} not scanned" if files.unread else ""
    if files.own:
        return State.QUIET, f"nothing known found in {_counted(files.own + files.shared)}{unread}"
    if files.unread:
        return State.NOT_READ, f"{_counted(files.unread)} in the bundle, none scanned for faults"
    if files.shared:
        return State.QUIET, f"nothing known found in {_counted(files.shared, 'shared log')}"
    return State.ABSENT, "not in this bundle"


def _named(findings: list[Finding]) -> str:
    names = list(dict.fromkeys(finding.pattern for finding in findings))
    more = len(names) - _KINDS_NAMED
    return ", ".join(names[:_KINDS_NAMED]) + (f" and {more} more kinds" if more > 0 else "")


def _files_by_component(bundle: StoredBundle, read: Set[str]) -> dict[str, _Files]:
    counts: dict[str, _Files] = {}
    for file in bundle.files:
        is_scanned = file.path in read
        for place, component in enumerate(file.role.holds):
            entry = counts.setdefault(component, _Files())
            entry.own += is_scanned and place == 0
            entry.shared += is_scanned and place > 0
            entry.unread += not is_scanned and place == 0
    return counts


def _rank(verdict: ComponentVerdict) -> tuple[int, int, int, str]:
    severity = verdict.worst.rank if verdict.worst is not None else len(Severity)
    usual = _USUAL.index(verdict.component) if verdict.component in _USUAL else len(_USUAL)
    return list(State).index(verdict.state), severity, usual, verdict.component


def _counted(number: int, what: str = "file") -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
