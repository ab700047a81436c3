"""A function in the sandbox to break and repair, and the role that may repair it."""

import json
from contextlib import suppress

from affidavit.sandbox.sandbox import Sandbox

TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": ["sts:AssumeRole", "sts:SetSourceIdentity"]}
    ],
}
ROLE = "affidavit-executor"
ALL = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


def executor_role(sandbox: Sandbox) -> str:
    """May do everything, so that only the session policy holds it back."""
    iam = sandbox.client("iam")
    with suppress(iam.exceptions.EntityAlreadyExistsException):
        iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument=json.dumps(TRUST))
    iam.put_role_policy(RoleName=ROLE, PolicyName="all", PolicyDocument=json.dumps(ALL))
    return iam.get_role(RoleName=ROLE)["Role"]["Arn"]


def make_function(sandbox: Sandbox, name: str, **settings: object) -> str:
    from affidavit.sandbox.account.function_account import package

    role = executor_role(sandbox)
    sandbox.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.12",
        Handler="handler.handler",
        Role=role,
        Code={"ZipFile": package()},
        **settings,
    )
    return name
