"""Who repairs in the sandbox: a role for the executor, and two people who approve, each with keys of their own."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.account.function_account import Clients

EXECUTOR = "affidavit-executor"
PEOPLE = ("alice", "bob")
# The ceiling of the role: what the catalog may change. A session policy narrows it to one approved plan.
MAY_CHANGE = (
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "ec2:*NetworkAclEntry",
    "ec2:*Route",
    "ec2:*SecurityGroupEgress",
    "ec2:RebootInstances",
    "iam:AttachRolePolicy",
    "iam:DeleteRolePolicy",
    "iam:DetachRolePolicy",
    "iam:PutRolePolicy",
    "iam:SetDefaultPolicyVersion",
    "kms:DisableKey",
    "kms:EnableKey",
    "lambda:*FunctionConcurrency",
    "lambda:AddPermission",
    "lambda:RemovePermission",
    "lambda:UpdateAlias",
    "lambda:UpdateEventSourceMapping",
    "lambda:UpdateFunctionConfiguration",
    "sqs:StartMessageMoveTask",
    "ssm:SendCommand",
)
# People read the account, keep plans and records, and may let the executor work. They change nothing themselves.
MAY_READ = ("Describe*", "Filter*", "Get*", "List*", "Lookup*", "Simulate*")
READ_SERVICES = ("autoscaling", "cloudtrail", "cloudwatch", "ec2", "eks", "iam", "kms", "lambda", "logs", "sqs", "ssm")


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairPeople:
    role_arn: str
    people: Mapping[str, SandboxKeys]

    @property
    def settings(self) -> dict[str, str]:
        account = self.role_arn.split(":")[4]
        names = ",".join(f"arn:aws:iam::{account}:user/{name}" for name in self.people)
        return {"REMEDIATION": "on", "REMEDIATION_ROLE_ARN": self.role_arn, "REMEDIATION_PEOPLE": names}


def make_repair_people(clients: Clients) -> RepairPeople:
    """In an account that has neither yet."""
    iam = clients.client("iam")
    arns = {name: iam.create_user(UserName=name)["User"]["Arn"] for name in PEOPLE}
    role = iam.create_role(RoleName=EXECUTOR, AssumeRolePolicyDocument=json.dumps(_trust(list(arns.values()))))["Role"]
    ceiling = _policy({"Effect": "Allow", "Action": list(MAY_CHANGE), "Resource": "*"})
    iam.put_role_policy(RoleName=EXECUTOR, PolicyName="ceiling", PolicyDocument=json.dumps(ceiling))
    policy = json.dumps(_approving(role["Arn"]))
    for name in PEOPLE:
        iam.put_user_policy(UserName=name, PolicyName="approve-repairs", PolicyDocument=policy)
    return RepairPeople(role_arn=role["Arn"], people={name: _keys(iam, name) for name in PEOPLE})


def _keys(iam: Any, name: str) -> SandboxKeys:
    made = iam.create_access_key(UserName=name)["AccessKey"]
    return SandboxKeys(access_key=made["AccessKeyId"], secret_key=made["SecretAccessKey"])


def _trust(arns: list[str]) -> dict[str, Any]:
    """Only people, and only in the name of one: who assumes it says for whom."""
    actions = ["sts:AssumeRole", "sts:SetSourceIdentity"]
    return _policy({"Effect": "Allow", "Principal": {"AWS": arns}, "Action": actions})


def _approving(role_arn: str) -> dict[str, Any]:
    reading = [f"{service}:{verb}" for service in READ_SERVICES for verb in MAY_READ]
    stores = ["dynamodb:*Item", "dynamodb:Query", "s3:GetObject", "s3:ListBucket", "s3:PutObject", "sns:Publish"]
    return _policy(
        {"Effect": "Allow", "Action": reading, "Resource": "*"},
        {"Effect": "Allow", "Action": stores, "Resource": "*"},
        {"Effect": "Allow", "Action": ["sts:AssumeRole", "sts:SetSourceIdentity"], "Resource": role_arn},
    )


def _policy(*statements: Mapping[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}
