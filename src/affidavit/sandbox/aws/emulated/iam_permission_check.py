"""Lets the gateway ask whether IAM allows a request that one of its simulators will answer. Nothing is carried out."""

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

# On a request: check it and stop there. On the answer: the service that IAM was asked about.
ONLY_ASKED = "x-affidavit-only-asked"
ALLOWED_STATUS = 204
SIMULATED = ("ssm", "ec2", "eks", "autoscaling")

Handler: TypeAlias = Callable[..., Awaitable[tuple[int, dict[str, str], bytes]]]


def stop_when_only_asked(app: Any) -> None:
    """`app` is the emulator's module. Its handlers are called after IAM allowed the request, never before."""
    for service in SIMULATED:
        app.SERVICE_HANDLERS[service] = _stopping(service, app.SERVICE_HANDLERS[service], app)


def _stopping(service: str, known: Handler, app: Any) -> Handler:
    async def handle(
        method: str, path: str, headers: Any, body: bytes, query: Any
    ) -> tuple[int, dict[str, str], bytes]:
        for instance in _instances(service, headers, body):
            if _denied(app, headers, query, instance):
                return 400, {"Content-Type": "application/x-amz-json-1.1"}, _refusal(instance)
        if ONLY_ASKED not in headers:
            return await known(method, path, headers, body, query)
        return ALLOWED_STATUS, {ONLY_ASKED: service}, b""

    return handle


def _instances(service: str, headers: Any, body: bytes) -> Iterator[str]:
    """A command is about its document, which IAM was asked for, and about each instance."""
    if service == "ssm" and headers.get("x-amz-target") == "AmazonSSM.SendCommand":
        yield from json.loads(body or b"{}").get("InstanceIds", ())


def _denied(app: Any, headers: Any, query: Any, instance: str) -> bool:
    from ministack.core import iam_evaluator, responses  # pyright: ignore[reportMissingTypeStubs] - it ships none

    emulator: Any = iam_evaluator
    account: Any = responses
    region = app.extract_region(headers)
    arn = f"arn:aws:ec2:{region}:{account.get_account_id()}:instance/{instance}"
    key = app.extract_access_key_id(headers, query)
    return emulator.enforce(key, "ssm:SendCommand", "ssm", region, resource_arn=arn) is not None


def _refusal(instance: str) -> bytes:
    said = f"not authorized to perform: ssm:SendCommand on instance {instance}"
    return json.dumps({"__type": "AccessDeniedException", "message": said}).encode()
