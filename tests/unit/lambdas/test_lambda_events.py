"""An event as a request, and the answer back."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncGenerator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from affidavit.entrypoints.http.lambda_events import MOST_ANSWER_BYTES, answer_event


def event(path: str, *, method: str = "GET", body: bytes = b"", query: str = "") -> dict[str, object]:
    return {
        "rawPath": path,
        "rawQueryString": query,
        "headers": {"Host": "x.on.aws", "X-Said": "yes"},
        "requestContext": {"domainName": "x.on.aws", "http": {"method": method, "path": path, "sourceIp": "1.2.3.4"}},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }


async def echo(request: Request) -> JSONResponse:
    body = await request.body()
    return JSONResponse(
        {
            "method": request.method,
            "query": dict(request.query_params),
            "said": request.headers["x-said"],
            "body": body.decode(),
        },
        status_code=201,
        headers={"x-answered": "yes"},
    )


async def large(_request: Request) -> PlainTextResponse:
    return PlainTextResponse("x" * (MOST_ANSWER_BYTES + 1))


def answered(told: dict[str, object], app: Starlette | None = None) -> dict[str, object]:
    app = app or Starlette(routes=[Route("/echo", echo, methods=["POST"]), Route("/large", large)])
    return asyncio.run(answer_event(app, told))


def test_method_query_headers_and_body_arrive_and_the_answer_comes_back() -> None:
    answer = answered(event("/echo", method="POST", body="grüß".encode(), query="a=1&b=2"))
    assert answer["statusCode"] == 201
    assert answer["headers"]["x-answered"] == "yes"
    told = base64.b64decode(answer["body"]).decode()
    assert told == '{"method":"POST","query":{"a":"1","b":"2"},"said":"yes","body":"grüß"}'


def test_a_path_that_is_not_there_is_a_404() -> None:
    assert answered(event("/nothing"))["statusCode"] == 404


def test_an_answer_that_lambda_cannot_carry_says_so() -> None:
    answer = answered(event("/large"))
    assert answer["statusCode"] == 413
    assert "ask for less" in answer["body"]


def test_the_applications_own_tasks_run_around_the_request() -> None:
    seen: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        seen.append("started")
        yield
        seen.append("ended")

    async def look(_request: Request) -> PlainTextResponse:
        seen.append("asked")
        return PlainTextResponse("ok")

    answered(event("/look"), Starlette(routes=[Route("/look", look)], lifespan=lifespan))
    assert seen == ["started", "asked", "ended"]
