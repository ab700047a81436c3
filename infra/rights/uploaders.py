"""Who may bring bundles: roles of nodes, which the operator names. They may put archives, and read nothing.

The runbook uploads with the role of the node it runs on. Statements about roles that are not named cannot stand in a
policy, so these are there only when some are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Aws, CfnCondition, CfnParameter, CfnResource, Fn, Stack, Token
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from infra import names

_ARCHIVES = "eks_*"
# An archive lies at the top or below one folder; what we store ourselves lies deeper, or has another ending.
_OURS = "eks_*/*/*"


class Uploaders:
    def __init__(self, stack: Stack, *, prefix: str, endings: Sequence[str]) -> None:
        self._prefix, self._endings = prefix, endings
        self._roles = CfnParameter(
            stack,
            "NodeRoleArns",
            type="CommaDelimitedList",
            default="",
            description="ARNs, by comma, of the roles of nodes, which upload their own bundles",
        )
        named = Fn.condition_not(Fn.condition_equals(Fn.join("", self._roles.value_as_list), ""))
        self._some = CfnCondition(stack, "NodesUpload", expression=named)

    def admit(self, bucket: s3.Bucket, key: kms.Key) -> None:
        assert bucket.policy is not None, "the bucket refuses plain HTTP, so it has a policy"
        self._add(bucket.policy.node.default_child, "PolicyDocument", self._on_the_bucket())
        self._add(key.node.default_child, "KeyPolicy", [self._on_the_key()])

    def _add(self, resource: object, document: str, statements: Sequence[Mapping[str, Any]]) -> None:
        """The library has no statement that is there on a condition."""
        assert isinstance(resource, CfnResource)
        existing = len(Stack.of(resource).resolve(_document_of(resource))["Statement"])
        for place, statement in enumerate(statements, start=existing):
            chosen = Fn.condition_if(self._some.logical_id, statement, {"Ref": "AWS::NoValue"})
            resource.add_property_override(f"{document}.Statement.{place}", Token.as_any(chosen))

    def _on_the_bucket(self) -> list[dict[str, Any]]:
        archives = [self._bucket(f"{_ARCHIVES}{ending}") for ending in self._endings]
        return [
            self._statement("NodesBringArchives", ["s3:PutObject", "s3:AbortMultipartUpload"], archives),
            # The runbook uploads nothing into a bucket that the public could read, and the node looks.
            self._statement("NodesCheckTheBucket", ["s3:GetBucketAcl", "s3:GetBucketPolicyStatus"], [self._bucket()]),
            {**self._statement("NodesTouchNoEvidence", ["s3:PutObject"], [self._bucket(_OURS)]), "Effect": "Deny"},
        ]

    def _on_the_key(self) -> dict[str, Any]:
        """S3 decrypts its own parts when a large upload is put together; a node may get no object, so it reads none."""
        statement = self._statement("NodesEncryptArchives", ["kms:GenerateDataKey", "kms:Decrypt"], ["*"])
        conditions = {
            "StringEquals": {"kms:ViaService": f"s3.{Aws.REGION}.{Aws.URL_SUFFIX}"},
            "StringLike": {"kms:EncryptionContext:aws:s3:arn": self._bucket(_ARCHIVES)},
        }
        return {**statement, "Condition": conditions}

    def _statement(self, sid: str, actions: Sequence[str], resources: Sequence[str]) -> dict[str, Any]:
        return {
            "Sid": sid,
            "Effect": "Allow",
            "Principal": {"AWS": self._roles.value_as_list},
            "Action": list(actions),
            "Resource": list(resources),
        }

    def _bucket(self, keys: str = "") -> str:
        return names.placed(names.bucket_arn(self._prefix, keys))


def _document_of(resource: CfnResource) -> Any:
    if isinstance(resource, s3.CfnBucketPolicy):
        return resource.policy_document
    assert isinstance(resource, kms.CfnKey)
    return resource.key_policy
