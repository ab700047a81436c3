"""Categories of failures, got from the real client against endpoints that misbehave."""

import socket
import ssl
import threading

import httpx2
import pytest

from affidavit.agent.error_categories import classify_error
from affidavit.agent.errors import ChatModelFailed, McpAuthFailed, McpConnectionFailed, McpInitError
from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory
from affidavit.sandbox.chat_models.bedrock import Hangs, Refuses, Resets, ScriptedAnswers, ScriptedText


def failure_of(chat) -> BaseException:
    with pytest.raises(ChatModelFailed) as raised:
        chat.invoke("is anybody there?")
    return raised.value


@pytest.mark.parametrize(
    ("status", "code", "category"),
    [
        (403, "AccessDeniedException", "bedrock_auth"),
        (401, "UnauthorizedException", "bedrock_auth"),
        (403, "ExpiredTokenException", "bedrock_auth"),
        (403, "UnrecognizedClientException", "bedrock_auth"),
        (429, "ThrottlingException", "bedrock_transient"),
        (503, "ServiceUnavailableException", "bedrock_transient"),
        (408, "ModelTimeoutException", "bedrock_transient"),
        (429, "ModelNotReadyException", "bedrock_transient"),
        (500, "InternalServerException", "bedrock_transient"),
        (424, "ModelErrorException", "bedrock_transient"),
        (400, "ValidationException", "bedrock_config"),
        (404, "ResourceNotFoundException", "bedrock_config"),
        (502, "SomethingANewServiceSays", "bedrock_transient"),
        (403, "SomethingAProxySays", "bedrock_auth"),
    ],
)
def test_what_bedrock_answers_decides_the_category(serve, chat, status: int, code: str, category: str) -> None:
    simulator = serve(lambda _: Refuses(status=status, code=code))
    assert classify_error(failure_of(chat())).category == category
    assert len(simulator.requests) == 1, "the client itself must not try again"


def test_a_missing_use_case_form_is_configuration(serve, chat) -> None:
    serve(
        lambda _: Refuses(
            status=404,
            code="ResourceNotFoundException",
            message="Model use case details have not been submitted for this account.",
        )
    )
    error = classify_error(failure_of(chat()))
    assert error.category == ErrorCategory.BEDROCK_CONFIG
    assert "use case details" in error.message


def test_a_prompt_longer_than_the_context_is_configuration(serve, chat) -> None:
    serve(lambda _: Refuses(status=400, code="ValidationException", message="Input is too long for requested model."))
    assert classify_error(failure_of(chat())).category == ErrorCategory.BEDROCK_CONFIG


def test_a_model_that_never_answers_is_transient(serve, chat) -> None:
    serve(lambda _: Hangs())
    assert classify_error(failure_of(chat(read_seconds=0.3))).category == ErrorCategory.BEDROCK_TRANSIENT


def test_a_reset_connection_is_transient(serve, chat) -> None:
    serve(lambda _: Resets())
    assert classify_error(failure_of(chat())).category == ErrorCategory.BEDROCK_TRANSIENT


def test_nobody_at_the_port_is_transient(serve, chat, aws_environment) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", f"http://127.0.0.1:{port}")
    assert classify_error(failure_of(chat())).category == ErrorCategory.BEDROCK_TRANSIENT


def test_an_endpoint_that_speaks_no_tls_is_configuration(chat, aws_environment) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def talk_plainly() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1024)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    threading.Thread(target=talk_plainly, daemon=True).start()
    url = f"https://127.0.0.1:{listener.getsockname()[1]}"
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)
    assert classify_error(failure_of(chat(read_seconds=5))).category == ErrorCategory.BEDROCK_CONFIG
    listener.close()


def test_an_answer_that_is_no_json_is_transient(serve, chat) -> None:
    serve(lambda _: ScriptedAnswers(body=b"<html>Bad gateway</html>"))
    assert classify_error(failure_of(chat())).category == ErrorCategory.BEDROCK_TRANSIENT


def test_a_tool_call_that_is_no_object_is_an_unusable_reply(serve, chat) -> None:
    serve(lambda _: ScriptedText(calls=[("get_recent_logs", "not an object")]))
    error = failure_of(chat())
    assert isinstance(error, ChatModelFailed)
    assert error.code == "UnusableReply"


def test_no_credentials_are_an_authorization_problem(chat, aws_environment) -> None:
    aws_environment.delenv("AWS_ACCESS_KEY_ID")
    aws_environment.delenv("AWS_SECRET_ACCESS_KEY")
    assert classify_error(failure_of(chat())).category == ErrorCategory.BEDROCK_AUTH


def test_each_mcp_failure_has_its_category() -> None:
    assert classify_error(McpConnectionFailed("gone")).category == "mcp_connection"
    assert classify_error(McpInitError("odd")).category == "mcp_init"
    assert classify_error(McpAuthFailed("no")).category == "mcp_auth"


def test_an_http_outage_three_groups_deep_is_found() -> None:
    with pytest.raises(httpx2.ConnectError) as raised, httpx2.Client() as client:
        client.get("http://127.0.0.1:1/mcp")
    inner = BaseExceptionGroup("tasks", [BaseExceptionGroup("session", [raised.value])])
    nested = ExceptionGroup("unhandled errors in a TaskGroup", [ValueError("beside"), ExceptionGroup("more", [inner])])
    assert classify_error(nested).category == ErrorCategory.MCP_CONNECTION


def test_a_denial_inside_a_group_is_about_the_key() -> None:
    answer = httpx2.Response(401, request=httpx2.Request("POST", "http://127.0.0.1/mcp"))
    with pytest.raises(httpx2.HTTPStatusError) as raised:
        answer.raise_for_status()
    assert classify_error(ExceptionGroup("tasks", [raised.value])).category == ErrorCategory.MCP_AUTH


def test_a_cause_is_looked_at_when_the_error_itself_says_nothing() -> None:
    error = RuntimeError("wrapped")
    error.__cause__ = ChatModelFailed("slow down", code="ThrottlingException")
    assert classify_error(error) == AgentError(category=ErrorCategory.BEDROCK_TRANSIENT, message="slow down")


def test_anything_else_is_unknown_and_keeps_its_words() -> None:
    assert classify_error(ZeroDivisionError("division by zero")).category == ErrorCategory.UNKNOWN
    assert str(classify_error(KeyError("Records"))) == "[unknown] 'Records'"
    assert classify_error(ssl.SSLError("odd")).category == ErrorCategory.UNKNOWN
