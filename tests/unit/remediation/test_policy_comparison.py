"""A restored policy is its source or a part of it: never wider, never a wildcard of its own, never PassRole."""

from typing import Any

import pytest

from affidavit.remediation.actions.iam.policy_comparison import forbidden_grants, widenings


def allow(action: Any, resource: Any = "arn:aws:s3:::orders/*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


SOURCE = policy(allow(["s3:GetObject", "s3:List*"]), {"Effect": "Deny", "Action": "s3:Get*", "Resource": "*"})
DENY = SOURCE["Statement"][1]


@pytest.mark.parametrize(
    "statement",
    [
        allow(["s3:GetObject", "s3:List*"]),
        allow("s3:GetObject"),
        allow("S3:getobject"),
        allow("s3:ListBucket"),
        allow("s3:GetObject", "arn:aws:s3:::orders/2026.csv"),
    ],
)
def test_the_source_and_parts_of_it_are_no_widening(statement: dict[str, Any]) -> None:
    assert widenings(policy(statement, DENY), SOURCE) == []


@pytest.mark.parametrize(
    "statement",
    [
        allow("s3:PutObject"),
        allow("s3:*"),
        allow("*"),
        allow("s3:ListBucket*"),
        allow("s3:Get?bject"),
        allow("s3:GetObject", "*"),
        allow("s3:GetObject", "arn:aws:s3:::orders/2026*"),
        allow("s3:GetObject", "arn:aws:s3:::payroll/2026.csv"),
        allow("s3:GetObject", "arn:aws:s3:::orders/${aws:username}"),
        allow("s3:GetObject", Condition={"Bool": {"aws:SecureTransport": "false"}}),
        {"Effect": "Allow", "NotAction": "s3:GetObject", "Resource": "arn:aws:s3:::orders/*"},
        {"Effect": "Allow", "Action": "s3:GetObject", "NotResource": "arn:aws:s3:::orders/*"},
    ],
)
def test_whatever_grants_more_is_named(statement: dict[str, Any]) -> None:
    assert len(widenings(policy(statement, DENY), SOURCE)) == 1


def test_a_condition_of_the_source_cannot_be_dropped() -> None:
    condition = {"StringEquals": {"aws:SourceVpc": "vpc-1"}}
    source = policy(allow("s3:GetObject", Condition=condition))
    assert widenings(policy(allow("s3:GetObject")), source)


def test_a_denial_of_the_source_cannot_be_dropped() -> None:
    assert widenings(policy(allow("s3:GetObject")), SOURCE) == ["the statement s3:Get* would no longer deny"]


@pytest.mark.parametrize("action", ["iam:PassRole", "iam:passrole", "iam:Pass*", "iam:*", "*", ["s3:GetObject", "*"]])
def test_passing_roles_is_never_brought_back(action: Any) -> None:
    assert forbidden_grants(policy(allow(action, "*")))


def test_denying_to_pass_roles_is_no_grant() -> None:
    assert forbidden_grants(policy({"Effect": "Deny", "Action": "iam:PassRole", "Resource": "*"}, allow("s3:*"))) == []


def test_everything_but_some_actions_is_never_brought_back() -> None:
    assert forbidden_grants(policy({"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"}))
