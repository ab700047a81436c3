"""The table of actions. What is not listed here cannot be planned, approved or executed."""

from collections.abc import Mapping
from functools import cache

from affidavit.errors import InputRefused
from affidavit.remediation.actions.action_type import ActionType
from affidavit.remediation.actions.ec2.acl_entry import RestoreAclEntry
from affidavit.remediation.actions.ec2.egress import RestoreEgress
from affidavit.remediation.actions.ec2.route import RestoreRoute
from affidavit.remediation.actions.iam.attachment import RestoreAttachment
from affidavit.remediation.actions.iam.inline_policy import RestoreInlinePolicy
from affidavit.remediation.actions.iam.policy_version import SetDefaultPolicyVersion
from affidavit.remediation.actions.lambda_alias import RollBackAlias
from affidavit.remediation.actions.lambda_concurrency import RestoreConcurrency
from affidavit.remediation.actions.lambda_configuration import RestoreConfiguration
from affidavit.remediation.actions.lambda_event_source import EnableEventSource
from affidavit.remediation.actions.lambda_permission import RestorePermission
from affidavit.remediation.actions.nodes.image_prune import PruneImages
from affidavit.remediation.actions.nodes.reboot import RebootNode
from affidavit.remediation.actions.nodes.replace import ReplaceNode
from affidavit.remediation.actions.nodes.service_restart import RestartService
from affidavit.remediation.actions.services.kms_key import EnableKey
from affidavit.remediation.actions.services.sqs_redrive import Redrive

# How many times as long as others these take until their effect can be read: a node boots, or another one starts.
_PATIENCE = {"sqs.redrive": 2, "node.reboot": 10, "node.replace": 15}


@cache
def catalog() -> Mapping[str, ActionType]:
    """By name, in the order in which the Resolver looks at them."""
    types: tuple[ActionType, ...] = (
        RestoreConcurrency(),
        RestoreInlinePolicy(),
        RestoreAttachment(),
        SetDefaultPolicyVersion(),
        RestoreEgress(),
        RestoreAclEntry(),
        RestoreRoute(),
        EnableKey(),
        RestoreConfiguration(),
        RollBackAlias(),
        RestorePermission(),
        EnableEventSource(),
        Redrive(),
        RestartService(),
        PruneImages(),
        RebootNode(),
        ReplaceNode(),
    )
    return {one.name: one for one in types}


def action_type(name: str) -> ActionType:
    """Raises InputRefused for an action that is not in the catalog."""
    found = catalog().get(name)
    if found is None:
        raise InputRefused(f"there is no action {name!r}", hint=f"the catalog has {', '.join(catalog())}")
    return found


def patience(name: str) -> int:
    """By how much the read-back of this action waits longer than that of others."""
    return _PATIENCE.get(name, 1)
