"""What differs between the live function and its last known-good state, as an answer that can be cited."""

from affidavit.known_good.capture import Captures
from affidavit.known_good.state_differences import StateChange, compare
from affidavit.ports.workload_inspector import WorkloadInspector
from affidavit.workloads.wire import BaselineDiffResponse, NotRead, StateDifference


def baseline_diff(captures: Captures | None, inspector: WorkloadInspector, name: str) -> BaselineDiffResponse:
    """Raises NotFound when there is no such function. Without `captures` nothing is kept to compare with."""
    if captures is None:
        inspector.function(name)
        return BaselineDiffResponse(lambda_name=name, has_baseline=False)
    live = captures.live(name)
    kept = captures.store.latest(live.function_arn)
    if kept is None:
        return BaselineDiffResponse(lambda_name=name, has_baseline=False, live_sha256=live.sha256)
    found = compare(captures.store.document(kept), live.document)
    why = live.why_not_read
    return BaselineDiffResponse(
        lambda_name=name,
        has_baseline=True,
        baseline_sha256=kept.sha256,
        captured_at=kept.captured_at.isoformat(),
        seen_at=kept.seen_at.isoformat(),
        vouched_by=kept.vouched_by.value,
        live_sha256=live.sha256,
        differences=[_difference(one) for one in found.differences],
        not_read=[
            NotRead(what=place, why=why.get(place, "the known-good state lacks it")) for place in found.not_compared
        ],
    )


def _difference(one: StateChange) -> StateDifference:
    return StateDifference.model_validate({"path": one.path, "kind": one.kind.value, "was": one.was, "now": one.now})
