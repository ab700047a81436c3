"""Network faults: a host that cannot be reached or a name that does not resolve, and on which side the cause lies."""

from collections.abc import Iterator, Sequence

from affidavit.agent.rules.errors.error_on_one_line import brief
from affidavit.agent.rules.failure_reasons import TIMED_OUT, Reason, said
from affidavit.agent.rules.fault import Fault, Remedy, names, sentence
from affidavit.agent.rules.ledger_facts import Facts
from affidavit.agent.rules.network.hosts_named_in_logs import HTTPS, Target, targets
from affidavit.agent.rules.network.packet_blockers import Block, blocks
from affidavit.evidence.diagnosis import EvidencePointer, FaultType, RiskLevel

UNRESOLVED, UNREACHABLE = "unresolved", "unreachable"
# Errors of a dependency that a closed way shows as well.
_MAYBE_WAY = (
    *("no-server", "no-server-in-other-words", "broker-silent", "no-connections", "no-connection-got"),
    *("database-not-ready", "database-lost", "late-or-unreached"),
)


def network_faults(facts: Facts) -> Iterator[Fault]:
    yield from _closed_to_servers(facts)
    reasons = facts.history.current("network")
    silent = [] if reasons else facts.history.current(TIMED_OUT)
    if not facts.network.get("in_vpc"):
        if reasons and not (facts.network and facts.history.has_passed("network")):
            yield _outside(facts, reasons)
        return
    if not (reasons or silent):
        return
    reached = _reached(facts, reasons) if reasons else targets(_said(facts, silent))
    found = blocks(facts, reached, is_naming=any(reason.label == UNRESOLVED for reason in reasons))
    # Nothing blocks the way, all of it was read, and a packet got through: somebody has opened it again.
    is_open = not found and not facts.network.get("not_read")
    if found:
        yield _blocked(facts, reasons or silent, found)
    elif reasons and not (is_open and facts.history.has_passed("network")):
        yield _open_way(facts, reasons, reached, is_read=is_open)


def _closed_to_servers(facts: Facts) -> Iterator[Fault]:
    """No server takes the connection, and the function's own network does not let it out to the one it names."""
    unreached = {id(facts.history.run_of(one)) for one in facts.history.current("network")}
    current = [one for one in facts.history.current("dependency", "lookalikes") if one.label in _MAYBE_WAY]
    reasons = [one for one in current if id(facts.history.run_of(one)) not in unreached]
    reached = _reached(facts, reasons) if facts.network.get("in_vpc") else []
    found = blocks(facts, reached, is_naming=False) if reached else []
    if found:
        yield _blocked(facts, reasons, found)


def _reached(facts: Facts, reasons: Sequence[Reason]) -> list[Target]:
    """What the errors name; where they name nothing, what their runs complained of, or last spoke of with a port."""
    named = targets(reason.text for reason in reasons)
    runs = [run for reason in reasons if (run := facts.history.run_of(reason)) is not None]
    complained = named or targets(said(one) for run in runs for one in run.run.complaints)
    return complained or [one for one in targets(_said(facts, reasons)) if one.port != HTTPS][-1:]


def _said(facts: Facts, silent: Sequence[Reason]) -> list[str]:
    runs = [run for reason in silent if (run := facts.history.run_of(reason)) is not None]
    return [statement.text for run in runs for statement in run.run.statements]


def _blocked(facts: Facts, reasons: Sequence[Reason], found: Sequence[Block]) -> Fault:
    cause = "; ".join(block[0] for block in found)
    told = [brief(reason) for reason in reasons if reason.label != TIMED_OUT]
    return Fault(
        kind=FaultType.NETWORK_BLOCK,
        cause=f"packets of {facts.function} do not get through: {cause}{_in_words(told)}",
        resources=names(*(name for block in found for name in block[1])),
        proof=(*_quotes(facts, reasons), *(pointer for block in found for pointer in block[2])),
        remedy=Remedy(action="Open the way again", details=sentence(cause), risk=RiskLevel.MEDIUM),
        explains=frozenset(reason.label for reason in reasons) | {TIMED_OUT, *_given_up(facts, reasons)},
    )


def _given_up(facts: Facts, reasons: Sequence[Reason]) -> Iterator[str]:
    """What a client says at last, when none of its attempts got through."""
    runs = [run for reason in reasons if (run := facts.history.run_of(reason)) is not None]
    yield from (one.label for run in runs for one in run.reasons if one.label in _MAYBE_WAY)


def _in_words(told: Sequence[str]) -> str:
    return f" ({told[0]})" if told else ""


def _open_way(facts: Facts, reasons: Sequence[Reason], reached: Sequence[Target], *, is_read: bool) -> Fault:
    """Our side lets packets out, or could not be read in full: the far end may be at fault."""
    side = "its own network settings let packets out" if is_read else "not all of its network settings were read"
    return _far_end(facts, reasons, reached, side=side)


def _outside(facts: Facts, reasons: Sequence[Reason]) -> Fault:
    reached = targets(reason.text for reason in reasons)
    private = [target for target in reached if target.address and target.is_private]
    if facts.network and private:
        return Fault(
            kind=FaultType.NETWORK_BLOCK,
            cause=(
                f"{facts.function} is not in a VPC, so it cannot reach the private address {private[0].address}: "
                f"{brief(reasons[0])}"
            ),
            resources=names(facts.function),
            proof=_quotes(facts, reasons),
            remedy=Remedy(
                action="Put the function into the network of what it calls", details="It runs outside of any VPC."
            ),
            explains=frozenset(reason.label for reason in reasons),
            is_sure=False,
        )
    side = "the function is not in a VPC" if facts.network else "how its packets leave was not read"
    return _far_end(facts, reasons, reached, side=side)


def _far_end(facts: Facts, reasons: Sequence[Reason], reached: Sequence[Target], *, side: str) -> Fault:
    kind = _kind(facts, reasons, reached)
    return Fault(
        kind=kind,
        cause=f"{facts.function or 'the function'} cannot reach what it calls ({brief(reasons[0])}), and {side}",
        resources=names(facts.function),
        proof=_quotes(facts, reasons),
        remedy=Remedy(
            action="See whether the called host answers others", details="The way and the far end are both open."
        ),
        explains=frozenset(reason.label for reason in reasons),
        gaps=("whether the way or the far end is at fault",),
        is_sure=False,
    )


def _kind(facts: Facts, reasons: Sequence[Reason], reached: Sequence[Target]) -> FaultType:
    """AWS itself is hardly ever out of reach, so from a VPC it is the way; another public host is its owner's."""
    if _was_known(facts, reasons, reached):
        return FaultType.DEPENDENCY
    if not facts.network or not reached or not any(reason.label == UNREACHABLE for reason in reasons):
        return FaultType.UNKNOWN
    if facts.network.get("in_vpc") and all(target.host.endswith(".amazonaws.com") for target in reached):
        return FaultType.NETWORK_BLOCK
    return FaultType.UNKNOWN if any(target.is_private for target in reached) else FaultType.DEPENDENCY


def _was_known(facts: Facts, reasons: Sequence[Reason], reached: Sequence[Target]) -> bool:
    """Outside any VPC a public name no longer resolves that earlier runs spoke of and went well: its owner lost it."""
    if not facts.network or facts.network.get("in_vpc") or not all(one.label == UNRESOLVED for one in reasons):
        return False
    public = [target.host for target in reached if not target.is_private]
    good = [one.text for run in facts.history.runs if run.is_good for one in run.run.statements]
    return bool(public) and all(any(host in text for text in good) for host in public)


def _quotes(facts: Facts, reasons: Sequence[Reason]) -> tuple[EvidencePointer, ...]:
    return tuple(facts.quote(reason, shows="The function could not reach what it calls.") for reason in reasons)
