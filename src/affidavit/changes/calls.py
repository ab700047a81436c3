"""The calls that change a workload, as data: chaos and repairs send the same ones."""

from affidavit.ports.aws_calls import ApiCall


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
