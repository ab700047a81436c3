"""Chat models for the Bedrock simulator that fail the ways services fail: slow, throttled, denied, hung."""

from collections.abc import Mapping

from affidavit.sandbox.chat_models.bedrock import ConverseRequest, Hangs, Refuses, Reply, Script, ScriptedText
from affidavit.sandbox.chat_models.honest_model import good


def slow(seconds: float, then: Script = good) -> Script:
    def script(request: ConverseRequest) -> Reply:
        reply = then(request)
        return (
            ScriptedText(text=reply.text, calls=reply.calls, after_seconds=seconds)
            if isinstance(reply, ScriptedText)
            else reply
        )

    return script


def failing(times: int, refusal: Refuses, then: Script = good) -> Script:
    """Refuses the first `times` requests."""
    return lambda request: refusal if request.number <= times else then(request)


def throttled(_: ConverseRequest) -> Reply:
    return Refuses(
        status=429, code="ThrottlingException", message="Too many requests, please wait before trying again."
    )


def denied(_: ConverseRequest) -> Reply:
    return Refuses(status=403, code="AccessDeniedException", message="not authorized to perform: bedrock:InvokeModel")


def missing(_: ConverseRequest) -> Reply:
    return Refuses(status=404, code="ResourceNotFoundException", message="Could not resolve the foundation model")


def hung(_: ConverseRequest) -> Reply:
    return Hangs()


def unforced(request: ConverseRequest) -> Reply:
    """Refuses to be forced to a tool, as chat models do while they think."""
    if request.forced_tool is not None:
        return Refuses(
            status=400,
            code="ValidationException",
            message="Thinking may not be enabled when tool_choice forces tool use.",
        )
    return good(request)


FAILING: Mapping[str, Script] = {
    "good": good,
    "throttled": throttled,
    "denied": denied,
    "missing": missing,
    "hung": hung,
    "unforced": unforced,
    "stutters": failing(1, Refuses(status=503, code="ServiceUnavailableException")),
}
