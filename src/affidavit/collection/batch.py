"""The tools `batch_collect` and `batch_status`: collect from several nodes of a cluster.

The nodes are chosen and stored before the first is asked, and each has a token derived from the batch. When a call
dies half-way, the next call with the same token continues it, and no node is asked twice.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar
from uuid import uuid5

from affidavit.collection.history import state_now
from affidavit.collection.node_choice import Choice, choose, node_limit
from affidavit.collection.permitted_nodes import NodePlace, directory_of, require_enabled, require_listed
from affidavit.collection.requests import BatchCollectRequest, BatchStatusRequest, Strategy
from affidavit.collection.reservation import NAMESPACE, shared_token
from affidavit.collection.rows import (
    BATCH_LIFE,
    AskedNode,
    Batch,
    ChosenNode,
    PassedOverNode,
    batch_key,
    batch_node_key,
    recent_batch_key,
)
from affidavit.collection.start import start_once
from affidavit.collection.task_state import Task, TaskState, a_task
from affidavit.collection.tool_answers import BatchAnswer, BatchCounts, BatchNode, PassedOver
from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import AffidavitError, InputRefused, NotFound
from affidavit.ports.node_directory import Node
from affidavit.ports.table import Absent, AnyOf, ConditionFailed, Lacks, Put
from affidavit.progress import who_waits
from affidavit.wire.byte_budget import fit, more_bytes
from affidavit.wire.records import NextCall, cut

# SSM starts a few executions a second for an account; more callers would only be throttled.
CALLERS: Final = 4
LISTED_PASSED_OVER: Final = 100

_ORDER: Final = (TaskState.FAILED, None, TaskState.WORKING, TaskState.CANCELLED, TaskState.COMPLETED)

_R = TypeVar("_R")


def batch_collect(request: BatchCollectRequest, desk: Desk) -> BatchAnswer:
    """Asks every chosen node once; one that cannot be collected is in the answer with its reason.

    Raises:
        InputRefused: collection is off, or the cluster is not on the list.
        NotFound: there is no such cluster, or it has no node that fits the strategy.
    """
    require_enabled(desk)
    require_listed(request.cluster_name, desk)
    batch, is_new = _settle(request, desk)
    asked = _asked(batch, desk)
    waiting, unstarted = who_waits().next_stage(), [n for n in batch.nodes if not _is_started(n, asked)]
    for number in range(0, len(unstarted), CALLERS):
        waiting.tell(number, len(unstarted), "nodes asked")
        _for_each(lambda node: _ask(node, batch, desk), unstarted[number : number + CALLERS])
    return _answer(batch, desk, request.max_bytes, is_known=not is_new)


def batch_status(request: BatchStatusRequest, desk: Desk) -> BatchAnswer:
    item = desk.state.get(batch_key(request.batch_id))
    if item is None:
        raise NotFound(f"no batch has the id {request.batch_id}", hint="batches are kept for 48 hours; see history")
    return _answer(Batch.of(item), desk, request.max_bytes, is_known=True)


def batch_id_of(cluster: str, region: str, strategy: Strategy, limit: int, token: str) -> str:
    """The same question with the same token is the same batch."""
    return str(uuid5(NAMESPACE, f"{cluster}#{region}#{strategy}#{limit}#{token}"))


# --- which nodes -----------------------------------------------------------------------------------------------------


def _settle(request: BatchCollectRequest, desk: Desk) -> tuple[Batch, bool]:
    """The batch, and whether this call made it."""
    region = request.region or desk.region
    limit = node_limit(request.strategy, request.max_nodes)
    recent = recent_batch_key(request.cluster_name, region, request.strategy, limit)
    token = request.idempotency_token or shared_token(recent, desk)
    batch_id = batch_id_of(request.cluster_name, region, request.strategy, limit, token)
    known = desk.state.get(batch_key(batch_id))
    if known is not None:
        return Batch.of(known), False
    return _make(_planned(batch_id, request, region, token, limit, desk), desk)


def _planned(batch_id: str, request: BatchCollectRequest, region: str, token: str, limit: int, desk: Desk) -> Batch:
    nodes = _nodes_of(request.cluster_name, region, desk)
    choice = choose(nodes, request.strategy, limit, cluster=request.cluster_name)
    if not choice.nodes:
        raise _nothing_to_collect(request, len(nodes), choice)
    return Batch(
        batch_id=batch_id,
        cluster=request.cluster_name,
        region=region,
        strategy=request.strategy,
        token=token,
        nodes=[ChosenNode(instance_id=n.instance_id, zone=n.zone, instance_type=n.instance_type) for n in choice.nodes],
        nodes_found=len(nodes),
        left_out=choice.left_out,
        passed_over=[PassedOverNode(instance_id=i, reason=why) for i, why in choice.passed_over[:LISTED_PASSED_OVER]],
        passed_over_total=len(choice.passed_over),
    )


def _nodes_of(cluster: str, region: str, desk: Desk) -> Sequence[Node]:
    directory = directory_of(desk)
    try:
        return directory.nodes_of(cluster, region=region)
    except InputRefused as error:
        raise NotFound(str(error), hint=error.hint) from error


def _nothing_to_collect(request: BatchCollectRequest, found: int, choice: Choice) -> NotFound:
    reasons = Counter(reason for _, reason in choice.passed_over)
    why = "".join(f"; {count} passed over: {reason}" for reason, count in sorted(reasons.items()))
    return NotFound(
        f"cluster {request.cluster_name} has {found} nodes, and none to collect by strategy {request.strategy}{why}",
        hint="try strategy=sample; this says nothing about whether the nodes are well",
    )


def _make(batch: Batch, desk: Desk) -> tuple[Batch, bool]:
    key = batch_key(batch.batch_id)
    try:
        desk.state.write(Put(item=batch.item(key, now=desk.clock.now(), life=BATCH_LIFE), when=Absent()))
    except ConditionFailed:
        known = desk.state.get(key)
        if known is None:
            raise
        return Batch.of(known), False
    return batch, True


# --- asking them -----------------------------------------------------------------------------------------------------


def _ask(node: ChosenNode, batch: Batch, desk: Desk) -> None:
    place = NodePlace(region=batch.region, cluster=batch.cluster)
    try:
        started = start_once(node.instance_id, f"batch-{batch.batch_id}", place, desk)
    except AffidavitError as error:
        trouble = f"{error}; {error.hint}" if error.hint else str(error)
        asked = AskedNode(instance_id=node.instance_id, trouble=trouble)
    else:
        asked = AskedNode(instance_id=node.instance_id, execution_id=started.execution.execution_id)
    key = batch_node_key(batch.batch_id, node.instance_id)
    # Another call of the same batch may have started this node after we failed. Then its execution counts.
    with suppress(ConditionFailed):
        desk.state.write(
            Put(
                item=asked.item(key, now=desk.clock.now(), life=BATCH_LIFE),
                when=AnyOf((Absent(), Lacks("execution_id"))),
            )
        )


def _asked(batch: Batch, desk: Desk) -> dict[str, AskedNode]:
    rows = desk.state.query(batch_key(batch.batch_id).pk, sk_prefix="NODE#")
    return {row.instance_id: row for row in map(AskedNode.of, rows)}


def _is_started(node: ChosenNode, asked: dict[str, AskedNode]) -> bool:
    row = asked.get(node.instance_id)
    return row is not None and row.execution_id is not None


def _for_each(call: Callable[[ChosenNode], _R], nodes: list[ChosenNode]) -> list[_R]:
    with ThreadPoolExecutor(max_workers=CALLERS) as pool:
        return list(pool.map(call, nodes))


# --- the answer ------------------------------------------------------------------------------------------------------


def _answer(batch: Batch, desk: Desk, max_bytes: int, *, is_known: bool) -> BatchAnswer:
    asked = _asked(batch, desk)
    nodes = _for_each(lambda node: _report(node, asked.get(node.instance_id), desk), batch.nodes)
    # Failed nodes come first: somebody has to look at them.
    ranked = sorted(nodes, key=lambda node: _ORDER.index(node.state))
    passed = [PassedOver(instance_id=node.instance_id, reason=node.reason) for node in batch.passed_over]

    def with_rows(most: int) -> BatchAnswer:
        shown, over = ranked[:most], passed[: max(0, most - len(ranked))]
        total = len(ranked) + batch.passed_over_total
        info = cut(
            total, len(shown) + len(over), "raise max_bytes; counts has every node", _status_call(batch, max_bytes)
        )
        counts = _count(nodes)
        return BatchAnswer(
            task=_task(batch.batch_id, counts),
            batch_id=batch.batch_id,
            cluster_name=batch.cluster,
            region=batch.region,
            strategy=batch.strategy,
            idempotency_key=batch.token,
            nodes=shown,
            counts=counts,
            nodes_found=batch.nodes_found,
            left_out=batch.left_out,
            passed_over=over,
            passed_over_total=batch.passed_over_total,
            idempotent=is_known,
            truncated=info is not None,
            truncation_info=info,
        )

    return fit(with_rows, len(ranked) + len(passed), max_bytes)


def _status_call(batch: Batch, max_bytes: int) -> NextCall:
    arguments = {"batchId": batch.batch_id, "max_bytes": more_bytes(max_bytes)}
    return NextCall(tool="batch_status", arguments=arguments)


def _report(node: ChosenNode, asked: AskedNode | None, desk: Desk) -> BatchNode:
    state, message = _state(asked, desk)
    return BatchNode(
        instance_id=node.instance_id,
        zone=node.zone,
        instance_type=node.instance_type,
        execution_id=asked.execution_id if asked is not None else None,
        state=state,
        message=message,
    )


def _state(asked: AskedNode | None, desk: Desk) -> tuple[TaskState | None, str]:
    if asked is None:
        return None, "not asked yet; call batch_collect again with the batch's idempotencyKey to continue"
    if asked.execution_id is None:
        return TaskState.FAILED, f"it could not be started: {asked.trouble}"
    return state_now(asked.execution_id, None, desk)


def _count(nodes: list[BatchNode]) -> BatchCounts:
    by_state = Counter(node.state for node in nodes)
    return BatchCounts(
        total=len(nodes),
        working=by_state[TaskState.WORKING],
        completed=by_state[TaskState.COMPLETED],
        failed=by_state[TaskState.FAILED],
        cancelled=by_state[TaskState.CANCELLED],
        unknown=by_state[None],
    )


def _task(batch_id: str, counts: BatchCounts) -> Task:
    message = (
        f"{counts.completed} of {counts.total} nodes collected and indexed; {counts.working} working, "
        f"{counts.failed} failed, {counts.cancelled} cancelled, {counts.unknown} not known"
    )
    return a_task(batch_id, _overall(counts), message)


def _overall(counts: BatchCounts) -> TaskState:
    """Completed when every node has ended and at least one gave its bundle; the counts say what is missing."""
    if counts.working or counts.unknown:
        return TaskState.WORKING
    if counts.completed:
        return TaskState.COMPLETED
    return TaskState.FAILED if counts.failed else TaskState.CANCELLED
