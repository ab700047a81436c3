"""Denials as AWS words them."""

import pytest

from affidavit.ports.workload_inspector import LogLine
from affidavit.workloads.denials import Denial, denials
from affidavit.workloads.policy_resources import database_user_arns

WHO = "User: arn:aws:sts::123456789012:assumed-role/r/f is not authorized to perform:"
OBJECT = "arn:aws:s3:::acme/in/x.csv"


def found(*messages: str) -> list[Denial]:
    return denials(LogLine(at=number, message=message) for number, message in enumerate(messages))


@pytest.mark.parametrize(
    ("message", "action", "resource"),
    [
        (f'{WHO} s3:GetObject on resource: "{OBJECT}" because no identity-based policy', "s3:GetObject", OBJECT),
        (
            f"{WHO} dynamodb:PutItem on resource: arn:aws:dynamodb:ca-central-1:1:table/t with an explicit deny",
            "dynamodb:PutItem",
            "arn:aws:dynamodb:ca-central-1:1:table/t",
        ),
        (
            f"{WHO} cloudwatch:PutMetricData because no identity-based policy allows it",
            "cloudwatch:PutMetricData",
            "*",
        ),
        ("An error occurred (AccessDenied) when calling the ListObjectsV2 operation", "s3:ListBucket", None),
        ("An error occurred (403) when calling the HeadObject operation: Forbidden", "s3:GetObject", None),
        (f"{WHO} s3:GetObject because no identity-based policy allows it", "s3:GetObject", None),
        ('FATAL:  PAM authentication failed for user "ledger"', "rds-db:connect", None),
    ],
)
def test_the_denied_action_and_its_resource_are_read(message: str, action: str, resource: str | None) -> None:
    assert found(message) == [Denial(action=action, resource=resource)]


def test_a_denial_is_listed_once_and_the_one_with_a_resource_wins() -> None:
    bare = "An error occurred (AccessDenied) when calling the GetObject operation: Access Denied"
    named = f'{WHO} s3:GetObject on resource: "{OBJECT}"'
    assert found(bare, named, named) == [Denial(action="s3:GetObject", resource=OBJECT)]


@pytest.mark.parametrize(
    "message",
    ["registered handlers for AccessDenied", "An error occurred (Throttling) when calling the GetObject operation", ""],
)
def test_other_lines_hold_no_denial(message: str) -> None:
    assert found(message) == []


@pytest.mark.parametrize(
    ("operation", "action"), [("SendMessage", "kms:GenerateDataKey"), ("GetObject", "kms:Decrypt")]
)
def test_a_key_that_a_service_may_not_use_is_named_by_what_the_service_was_doing(operation: str, action: str) -> None:
    told = f"An error occurred (KMS.AccessDeniedException) when calling the {operation} operation: null"
    assert [denial.action for denial in found(told)] == [action]


@pytest.mark.parametrize(
    ("granted", "asked"),
    [
        ("arn:aws:rds-db:ca-central-1:1:dbuser:db-A/ledger", "arn:aws:rds-db:ca-central-1:1:dbuser:db-A/ledger"),
        ("arn:aws:rds-db:ca-central-1:1:dbuser:db-A/other", "arn:aws:rds-db:ca-central-1:1:dbuser:*/ledger"),
        ("arn:aws:s3:::acme/*", "arn:aws:rds-db:*:1:dbuser:*/ledger"),
    ],
)
def test_a_login_by_iam_is_asked_about_as_the_policies_name_it(granted: str, asked: str) -> None:
    policy = {"Statement": [{"Effect": "Allow", "Action": "rds-db:connect", "Resource": granted}]}
    assert database_user_arns([policy], "arn:aws:iam::1:role/r", "ledger") == [asked]
