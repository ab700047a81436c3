"""A statement of a policy that allows, with resources of the account and region it is deployed to."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam

from infra import names


def allowing(
    sid: str, actions: Sequence[str], resources: Sequence[str], conditions: Mapping[str, object] | None = None
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid,
        actions=list(actions),
        resources=[names.placed(resource) for resource in resources],
        conditions=dict(conditions or {}),
    )
