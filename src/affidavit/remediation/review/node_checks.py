"""Checks that a repair of a node names only the node, its group, and the document that ships with this package."""

from affidavit.evidence.diagnosis import Diagnosis, FaultType
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.json import Item
from affidavit.remediation.actions.nodes.pinned_document import NAME, content_digest, document_content
from affidavit.remediation.plan.plan_record import Action
from affidavit.remediation.review.source_document_fields import mapping

_OPERATIONS = {
    "node.service.restart": {"restart-kubelet", "restart-containerd"},
    "node.images.prune": {"prune-images"},
    "node.reboot": {"reboot"},
}
_RESTARTED = {"restart-kubelet": FaultType.NODE_KUBELET, "restart-containerd": FaultType.NODE_RUNTIME}


def runs_our_document(name: str, arguments: Item, said: SourceDocument) -> bool:
    """By this version and hash, with an operation that belongs to the action."""
    deployed = mapping(said.document.get("document"))
    is_ours = deployed.get("name") == NAME and deployed.get("content_sha256") == content_digest(document_content())
    is_pinned = all(arguments[one] == deployed.get(one) for one in ("version", "hash"))
    return is_ours and is_pinned and arguments["operation"] in _OPERATIONS[name]


def is_this_node(arguments: Item, said: SourceDocument) -> bool:
    named = [arguments[name] == said.document.get(name) for name in ("instance_id", "instance_arn")]
    return said.source.kind is SourceKind.NODE and all(named)


def is_target_node(target: str, said: SourceDocument) -> bool:
    return target == said.document.get("instance_arn")


def is_target_group(target: str, said: SourceDocument) -> bool:
    """Evidence must be in store before a node is lost."""
    is_kept = said.document.get("has_evidence") is True
    return is_kept and target == mapping(said.document.get("group")).get("arn")


def restarts_another(action: Action, diagnosis: Diagnosis) -> bool:
    """Whether it restarts a service that the diagnosis is not about."""
    fault = _RESTARTED.get(str(action.arguments.get("operation")))
    return fault is not None and fault not in diagnosis.fault_types
