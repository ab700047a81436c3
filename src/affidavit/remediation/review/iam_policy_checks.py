"""Checks that a policy that comes back grants nothing that its source did not: no statement more, no wildcard more."""

from collections.abc import Iterator

from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.iam.policy_comparison import widenings
from affidavit.remediation.plan.plan_record import Action
from affidavit.remediation.review.source_document_fields import asked, kept, last, mapping, policy


def widened_policy(action: Action, said: SourceDocument, reader: StateReader) -> Iterator[str]:
    """What would be granted beyond the source, each a sentence. Raises what the reader raises."""
    match action.type:
        case "iam.inline_policy.restore":
            source = inline_policy(action.arguments, action.target, said)
            wanted = policy(action.arguments["document"])
        case "iam.policy_version.set_default":
            source = _of_version(action.target, said)
            wanted = _version(action.target, str(action.arguments["version_id"]), reader)
        case "iam.attachment.restore":
            # An event names the policy alone: what it said then, nobody kept.
            arn = str(action.arguments["policy_arn"])
            source = policy(kept(said, "permissions", "attached_policies", arn, "document"))
            wanted = _default_version(arn, reader) if source else source
        case _:
            return
    yield from (f"it is wider than its source: {why}" for why in widenings(wanted, source))


def inline_policy(arguments: Item, target: str, said: SourceDocument) -> Item:
    """The document that the source gives this policy of this role; empty when it has none."""
    role, name = last(target), str(arguments["policy"])
    if kept(said, "permissions", "role", "name") == role:
        return policy(kept(said, "permissions", "inline_policies", name))
    request = asked(said, "PutRolePolicy")
    is_it = request.get("roleName") == role and request.get("policyName") == name
    return policy(request.get("policyDocument")) if is_it else {}


def _of_version(arn: str, said: SourceDocument) -> Item:
    if said.source.kind is SourceKind.POLICY_VERSION:
        return policy(said.document.get("document"))
    return policy(kept(said, "permissions", "attached_policies", arn, "document"))


def _version(arn: str, version: str, reader: StateReader) -> Item:
    found = reader.read("iam", "get_policy_version", PolicyArn=arn, VersionId=version)
    return policy(mapping(found.get("PolicyVersion")).get("Document"))


def _default_version(arn: str, reader: StateReader) -> Item:
    found = mapping(reader.read("iam", "get_policy", PolicyArn=arn).get("Policy"))
    return _version(arn, str(found.get("DefaultVersionId")), reader)
