"""The role that repairs work with, in a stack of its own: without it no credential can write to a workload."""

import json
from collections.abc import Iterator

from aws_cdk import CfnOutput, CfnParameter, CfnTag, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from affidavit.remediation.actions.nodes.pinned_document import NAME, document_content
from infra import names
from infra.options import Options
from infra.rights.statements import allowing
from infra.rights.wildcards import explain

# What may be repaired carries this tag; EC2, KMS and Lambda name these things themselves.
REPAIR_TAG = ("affidavit:repair", "allowed")
FUNCTIONS = (
    "lambda:AddPermission",
    "lambda:DeleteFunctionConcurrency",
    "lambda:PutFunctionConcurrency",
    "lambda:RemovePermission",
    "lambda:UpdateAlias",
    "lambda:UpdateFunctionConfiguration",
)
# Variables that come back are read from a published version, right before they are set.
VERSIONS = ("lambda:GetFunctionConfiguration",)
EVENT_SOURCES = ("lambda:UpdateEventSourceMapping",)
ROLES = ("iam:AttachRolePolicy", "iam:DeleteRolePolicy", "iam:DetachRolePolicy", "iam:PutRolePolicy")
POLICIES = ("iam:SetDefaultPolicyVersion",)
NETWORKS = (
    "ec2:AuthorizeSecurityGroupEgress",
    "ec2:CreateNetworkAclEntry",
    "ec2:CreateRoute",
    "ec2:DeleteNetworkAclEntry",
    "ec2:DeleteRoute",
    "ec2:ReplaceNetworkAclEntry",
    "ec2:ReplaceRoute",
    "ec2:RevokeSecurityGroupEgress",
)
KEYS = ("kms:DisableKey", "kms:EnableKey")
# SQS moves dead letters with the permissions of who asked for it.
QUEUES = (
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
    "sqs:SendMessage",
    "sqs:StartMessageMoveTask",
)
COMMANDS = ("ssm:SendCommand",)
GROUPS = ("autoscaling:TerminateInstanceInAutoScalingGroup",)
_QUEUES = "arn:{partition}:sqs:{region}:{account}:*"
_GROUPS = "arn:{partition}:autoscaling:{region}:{account}:autoScalingGroup:*"
_DOCUMENT = f"arn:{{partition}}:ssm:{{region}}:{{account}}:document/{NAME}"
_MAPPINGS = "arn:{partition}:lambda:{region}:{account}:event-source-mapping:*"
_NETWORK_KINDS = ("network-acl/*", "route-table/*", "security-group/*")


class Remediation(Stack):
    """A session policy narrows the role further, to the calls and ARNs of one approved plan."""

    def __init__(self, scope: Construct, name: str, *, options: Options) -> None:
        super().__init__(scope, name, description="Affidavit: repairs that people approved", analytics_reporting=False)
        self._options = options
        self._callers = CfnParameter(
            self,
            "ExecutorPrincipals",
            type="CommaDelimitedList",
            description="ARNs of the roles that run approved plans; never one that serves agents or diagnoses",
        )
        self._functions = self._pattern("RepairableFunctions", "functions that may be repaired")
        self._roles = self._pattern("RepairableRoles", "roles whose policies may be put back")
        self._policies = self._pattern("RepairablePolicies", "managed policies whose default version may be set back")
        self._node_document()
        self.role = self._executor()
        CfnOutput(self, "RoleArn", value=self.role.role_arn, description="for REMEDIATION_ROLE_ARN")

    def _pattern(self, name: str, about: str) -> str:
        """Without a default: who deploys this says what it may reach. `*` is for accounts that hold nothing else."""
        parameter = CfnParameter(self, name, min_length=1, description=f"{about}: a name, or its beginning and a star")
        return parameter.value_as_string

    @property
    def _versions(self) -> str:
        return f"{names.function_arn(self._functions)}:*"

    def _node_document(self) -> None:
        """What repairs run on nodes, and nothing else: its operations are fixed."""
        ssm.CfnDocument(
            self,
            "NodeRepair",
            name=NAME,
            content=json.loads(document_content()),
            document_format="JSON",
            document_type="Command",
            target_type="/AWS::EC2::Instance",
            update_method="NewVersion",
            tags=[CfnTag(key=REPAIR_TAG[0], value=REPAIR_TAG[1])],
        )

    def _executor(self) -> iam.Role:
        role = iam.Role(
            self,
            "Executor",
            role_name=self._options.name("executor"),
            description="Carries out repairs that people approved",
            assumed_by=self._trust(),
            max_session_duration=Duration.hours(1),
            permissions_boundary=self._boundary(),
        )
        naming = iam.PolicyStatement(actions=["sts:SetSourceIdentity"], principals=[self._trust()])
        if role.assume_role_policy is not None:
            role.assume_role_policy.add_statements(naming)
        policy = iam.Policy(self, "ExecutorPolicy", roles=[role])
        for statement in self._statements():
            policy.add_statements(statement)
        self._explain(policy)
        return role

    def _trust(self) -> iam.IPrincipal:
        """Only the named roles, and only in the name of a person: without a source identity STS refuses."""
        conditions = {
            "ArnEquals": {"aws:PrincipalArn": self._callers.value_as_list},
            "Null": {"sts:SourceIdentity": "false"},
        }
        return iam.AccountPrincipal(self.account).with_conditions(conditions)

    def _boundary(self) -> iam.ManagedPolicy:
        """Whatever is attached to the role later, it can do no more than this."""
        boundary = iam.ManagedPolicy(
            self,
            "Boundary",
            managed_policy_name=self._options.name("executor-boundary"),
            document=iam.PolicyDocument(statements=list(self._statements())),
        )
        self._explain(boundary)
        return boundary

    def _statements(self) -> Iterator[iam.PolicyStatement]:
        tag = {"StringEquals": {f"aws:ResourceTag/{REPAIR_TAG[0]}": REPAIR_TAG[1]}}
        own = names.placed(f"arn:{{partition}}:iam::{{account}}:role/{self._options.name('*')}")
        iam_arn = "arn:{partition}:iam::{account}:%s"
        yield allowing("RepairFunctions", FUNCTIONS, [names.function_arn(self._functions)])
        yield allowing("ReadVersions", VERSIONS, [names.function_arn(self._functions), self._versions])
        yield allowing("RepairEventSources", EVENT_SOURCES, [_MAPPINGS], tag)
        yield allowing("RepairRoles", ROLES, [iam_arn % f"role/{self._roles}"])
        yield allowing("RepairPolicies", POLICIES, [iam_arn % f"policy/{self._policies}"])
        yield allowing("RepairNetworks", NETWORKS, [_ec2(kind) for kind in _NETWORK_KINDS], tag)
        yield allowing("RepairKeys", KEYS, ["arn:{partition}:kms:{region}:{account}:key/*"], tag)
        yield allowing("RepairQueues", QUEUES, [_QUEUES], tag)
        yield allowing("RepairNodes", COMMANDS, [_ec2("instance/*"), _DOCUMENT], tag)
        yield allowing("ReplaceNodes", GROUPS, [_GROUPS], tag)
        # Also where the pattern of roles would reach them.
        yield iam.PolicyStatement(sid="NeverOurOwnRoles", effect=iam.Effect.DENY, actions=list(ROLES), resources=[own])

    def _explain(self, policy: iam.Policy | iam.ManagedPolicy) -> None:
        named = (_MAPPINGS, "arn:{partition}:kms:{region}:{account}:key/*", _QUEUES, _GROUPS)
        for resource in (*map(_ec2, (*_NETWORK_KINDS, "instance/*")), *named):
            explain(policy, resource, "repair")
        explain(policy, f"{names.function_arn('<RepairableFunctions>')}:*", "versions")
        own = f"arn:{{partition}}:iam::{{account}}:role/{self._options.name('*')}"
        explain(policy, own, "denied")


def _ec2(kind: str) -> str:
    return f"arn:{{partition}}:ec2:{{region}}:{{account}}:{kind}"
