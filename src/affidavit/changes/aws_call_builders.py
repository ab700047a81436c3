"""The calls that change a workload, as data: chaos and repairs send the same ones."""

import json

from affidavit.ports.aws_reads_and_changes import ApiCall
from affidavit.ports.json import Item, JsonValue


def concurrency_call(function_arn: str, reserved: int | None) -> ApiCall:
    """None takes the reservation away, which is not 0: with 0 the function never runs."""
    if reserved is None:
        return ApiCall(
            service="lambda",
            operation="delete_function_concurrency",
            parameters={"FunctionName": function_arn},
            action="lambda:DeleteFunctionConcurrency",
            resource=function_arn,
        )
    return ApiCall(
        service="lambda",
        operation="put_function_concurrency",
        parameters={"FunctionName": function_arn, "ReservedConcurrentExecutions": reserved},
        action="lambda:PutFunctionConcurrency",
        resource=function_arn,
    )


def inline_policy_call(role_arn: str, policy: str, document: Item | None) -> ApiCall:
    """None takes the policy away."""
    named: Item = {"RoleName": _last(role_arn), "PolicyName": policy}
    if document is None:
        return _call("iam", "delete_role_policy", named, "iam:DeleteRolePolicy", role_arn)
    text = json.dumps(document, separators=(",", ":"))
    return _call("iam", "put_role_policy", {**named, "PolicyDocument": text}, "iam:PutRolePolicy", role_arn)


def attachment_call(role_arn: str, policy_arn: str, *, is_attached: bool) -> ApiCall:
    """IAM's resource is the role; a condition pins the policy, without which any could be attached."""
    verb = "Attach" if is_attached else "Detach"
    return ApiCall(
        service="iam",
        operation=f"{verb.lower()}_role_policy",
        parameters={"RoleName": _last(role_arn), "PolicyArn": policy_arn},
        action=f"iam:{verb}RolePolicy",
        resource=role_arn,
        conditions={"ArnEquals": {"iam:PolicyARN": policy_arn}},
    )


def egress_call(group_arn: str, rule: JsonValue, *, is_there: bool) -> ApiCall:
    action, operation = (
        ("ec2:AuthorizeSecurityGroupEgress", "authorize_security_group_egress")
        if is_there
        else ("ec2:RevokeSecurityGroupEgress", "revoke_security_group_egress")
    )
    return _call("ec2", operation, {"GroupId": _last(group_arn), "IpPermissions": [rule]}, action, group_arn)


def _last(arn: str) -> str:
    return arn.rsplit("/", 1)[-1]


def _call(service: str, operation: str, parameters: Item, action: str, resource: str) -> ApiCall:
    return ApiCall(service=service, operation=operation, parameters=parameters, action=action, resource=resource)
