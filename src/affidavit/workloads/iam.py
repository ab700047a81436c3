"""What the function's role may do: its policies, its boundary, and IAM's own verdict on what the logs show denied."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from affidavit.errors import EvidenceUnavailable, NotFound
from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import LogLine, WorkloadInspector
from affidavit.workloads.denials import DATABASE_LOGIN, Denial, database_users, denials
from affidavit.workloads.logs import SEARCHED, log_group, recent_lines
from affidavit.workloads.partial_answers import Parts
from affidavit.workloads.policy_resources import bucket_arns, database_user_arns
from affidavit.workloads.wire import Document, IAMStateResponse, KmsKeyState, SimulatedDecision

SIMULATED_AT_MOST = 10
BUCKETS_AT_MOST = 5


class _Function(BaseModel):
    model_config = ConfigDict(extra="ignore")

    Role: str
    FunctionArn: str | None = None
    KMSKeyArn: str | None = None


class _Boundary(BaseModel):
    model_config = ConfigDict(extra="ignore")

    PermissionsBoundaryArn: str


class _Role(BaseModel):
    model_config = ConfigDict(extra="ignore")

    AssumeRolePolicyDocument: Document | None = None
    PermissionsBoundary: _Boundary | None = None


class _BoundaryDetail(BaseModel):
    model_config = ConfigDict(extra="ignore")

    AllowedByPermissionsBoundary: bool | None = None


class _Evaluation(BaseModel):
    model_config = ConfigDict(extra="ignore")

    EvalDecision: str
    PermissionsBoundaryDecisionDetail: _BoundaryDetail = _BoundaryDetail()


def iam_state(inspector: WorkloadInspector, name: str, *, now: datetime) -> IAMStateResponse:
    """Raises NotFound when there is no such function. A role that is gone is an answer: `role_exists` is false."""
    raw = inspector.function(name)
    function = _Function.model_validate(raw)
    role_name = function.Role.rsplit("/", 1)[-1]
    try:
        role = _Role.model_validate(inspector.role(role_name))
    except NotFound:
        return _gone(role_name, function.Role)
    parts = Parts()
    inline = inspector.inline_policies(role_name)
    attached = inspector.attached_policies(role_name)
    documents = _documents(inspector, attached, parts)
    lines = parts.read("denied actions in recent logs", lambda: _lines(inspector, raw, now)) or ()
    denied = _asked(lines, function, [*inline.values(), *documents.values()])
    boundary = role.PermissionsBoundary.PermissionsBoundaryArn if role.PermissionsBoundary else None
    return IAMStateResponse.model_validate(
        {
            "role_name": role_name,
            "role_arn": function.Role,
            "inline_policies": inline,
            "attached_policies": list(attached),
            "attached_policy_documents": documents,
            "permissions_boundary": boundary,
            "permissions_boundary_document": boundary and _documents(inspector, [boundary], parts).get(boundary),
            "trust_policy": role.AssumeRolePolicyDocument,
            "simulated_decisions": list(_simulated(inspector, function.Role, denied, parts)),
            "resource_policies": _resource_policies(
                inspector, function, [*inline.values(), *documents.values()], parts
            ),
            "kms_keys": _keys(inspector, function.KMSKeyArn, parts),
            "not_read": parts.not_read,
        }
    )


def _gone(role_name: str, role_arn: str) -> IAMStateResponse:
    return IAMStateResponse(
        role_name=role_name, role_arn=role_arn, role_exists=False, inline_policies={}, attached_policies=[]
    )


def _documents(inspector: WorkloadInspector, arns: Sequence[str], parts: Parts) -> dict[str, Item]:
    read = {arn: parts.read(f"policy {arn}", lambda arn=arn: inspector.policy_document(arn)) for arn in arns}
    return {arn: document for arn, document in read.items() if document is not None}


def _lines(inspector: WorkloadInspector, function: Item, now: datetime) -> Sequence[LogLine]:
    try:
        return recent_lines(inspector, log_group(function), now=now, room=SEARCHED).lines
    except NotFound as error:
        raise EvidenceUnavailable("the function has no log group") from error


def _asked(lines: Sequence[LogLine], function: _Function, documents: Sequence[Item]) -> list[Denial]:
    """What the simulator is asked: what the log says was denied, and the logins that a database refused."""
    users = [arn for user in database_users(lines) for arn in database_user_arns(documents, function.Role, user)]
    logged = [one for one in denials(lines) if not users or one.action != DATABASE_LOGIN]
    logins = [Denial(action=DATABASE_LOGIN, resource=arn) for arn in users]
    return [*logged, *logins]


def _simulated(
    inspector: WorkloadInspector, role_arn: str, denied: list[Denial], parts: Parts
) -> Iterator[SimulatedDecision]:
    for denial in denied[SIMULATED_AT_MOST:]:
        parts.missing(f"simulation of {denial.action}", f"only the first {SIMULATED_AT_MOST} are simulated")
    for denial in denied[:SIMULATED_AT_MOST]:
        what = f"simulation of {denial.action}"
        if denial.resource is None:
            # Simulated on "*", a policy that allows one bucket would look like a denial.
            parts.missing(what, "the log line does not name the resource")
            continue
        decision = parts.read(what, lambda denial=denial: _decision(inspector, role_arn, denial))
        if decision is not None:
            yield decision


def _decision(inspector: WorkloadInspector, role_arn: str, denial: Denial) -> SimulatedDecision:
    resource = denial.resource or "*"
    raw = _Evaluation.model_validate(inspector.simulate(role_arn, action=denial.action, resource=resource))
    return SimulatedDecision.model_validate(
        {
            "action": denial.action,
            "resource": resource,
            "decision": raw.EvalDecision,
            "allowed_by_boundary": raw.PermissionsBoundaryDecisionDetail.AllowedByPermissionsBoundary,
        }
    )


def _resource_policies(
    inspector: WorkloadInspector, function: _Function, documents: list[Item], parts: Parts
) -> dict[str, Item]:
    buckets = sorted({bucket for document in documents for bucket in bucket_arns(document)})
    if len(buckets) > BUCKETS_AT_MOST:
        parts.missing(f"policies of {len(buckets) - BUCKETS_AT_MOST} more buckets", "too many to read")
    arns = [*([function.FunctionArn] if function.FunctionArn else []), *buckets[:BUCKETS_AT_MOST]]
    read = {
        arn: parts.read_if_there(f"policy on {arn}", lambda arn=arn: inspector.resource_policy(arn)) for arn in arns
    }
    return {arn: document for arn, document in read.items() if document is not None}


def _keys(inspector: WorkloadInspector, arn: str | None, parts: Parts) -> list[KmsKeyState]:
    if not arn:
        return []
    state = parts.read(f"state of {arn}", lambda: inspector.key_state(arn))
    policy = parts.read_if_there(f"policy on {arn}", lambda: inspector.resource_policy(arn))
    return [KmsKeyState.model_validate({"key_arn": arn, "state": state, "policy": policy})]
