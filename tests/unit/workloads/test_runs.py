"""Log events as runs: told apart by request, and ended as Lambda and the runtimes say."""

import json

import pytest

from affidavit.errors import InvariantBroken
from affidavit.workloads.runs import Ending, Run, read_runs
from affidavit.workloads.runs.runtime_wordings import checked_pattern

ONE, TWO = (f"0000000{number}-0000-4000-8000-000000000000" for number in (1, 2))


def report(request: str = ONE, tail: str = "") -> str:
    return f"REPORT RequestId: {request}\tDuration: 4.00 ms\tMemory Size: 256 MB\tMax Memory Used: 90 MB\t{tail}"


def runs_of(*messages: str) -> tuple[Run, ...]:
    """`messages` are oldest first, as they were written."""
    return read_runs([{"message": message} for message in reversed(messages)])


def run_of(*said: str, tail: str = "") -> Run:
    (run,) = runs_of(f"START RequestId: {ONE} Version: $LATEST", *said, f"END RequestId: {ONE}", report(tail=tail))
    return run


THROWN = {
    "python": ("[ERROR] KeyError: 'tenant_id'\nTraceback (most recent call last):", "KeyError", "'tenant_id'"),
    "python, no message": ("[ERROR] Empty\nTraceback (most recent call last):", "Empty", ""),
    "boto3": (
        "[ERROR] ClientError: An error occurred (SlowDown) when calling the PutObject operation: Please reduce",
        "SlowDown",
        "Please reduce",
    ),
    "node": (
        f'2026-03-03T10:00:00.000Z\t{ONE}\tERROR\tInvoke Error \t{{"errorType":"TypeError","errorMessage":"is null"}}',
        "TypeError",
        "is null",
    ),
    "node, rejected": (
        f"2026-03-03T10:00:00.000Z\t{ONE}\tERROR\tUnhandled Promise Rejection \t"
        '{"errorType":"Runtime.UnhandledPromiseRejection","errorMessage":"Error: connect ECONNREFUSED 10.0.0.1:6379",'
        '"reason":{"errorType":"Error","errorMessage":"connect ECONNREFUSED 10.0.0.1:6379"}}',
        "Error",
        "connect ECONNREFUSED 10.0.0.1:6379",
    ),
    "java": (
        "x is null: java.lang.NullPointerException\njava.lang.NullPointerException: x is null\n\tat a.B.c(B.java:3)",
        "java.lang.NullPointerException",
        "x is null",
    ),
    "dotnet": (
        f"2026-03-03T10:00:00.000Z\t{ONE}\tfail\tSystem.ArgumentException: bad value\n   at Acme.F.Handle()",
        "System.ArgumentException",
        "bad value",
    ),
    "go": (
        '2026/03/03 10:11:02 {"errorMessage":"operation failed","errorType":"errorString"}',
        "errorString",
        "operation failed",
    ),
    "rust": ("thread 'main' panicked at src/main.rs:88:42:\ncalled `Option::unwrap()`", "panic", "called"),
    "json": (
        json.dumps(
            {
                "log_level": "ERROR",
                "errorMessage": "no such user",
                "errorType": "LookupError",
                "requestId": ONE,
                "stackTrace": [],
            }
        ),
        "LookupError",
        "no such user",
    ),
}


@pytest.mark.parametrize(("said", "kind", "message"), THROWN.values(), ids=THROWN.keys())
def test_a_handler_that_throws_has_failed_without_a_status_and_its_error_is_named(
    said: str, kind: str, message: str
) -> None:
    run = run_of(said)
    (statement,) = run.statements
    assert run.ending is Ending.FAILED
    assert statement.is_unhandled
    assert statement.error is not None
    assert statement.error.type == kind
    assert message in statement.error.message


def test_an_error_over_several_events_is_one_statement() -> None:
    ruby = ("Error raised from handler method", "{", '  "errorMessage": "undefined method `upcase\'",')
    run = run_of(*ruby, '  "errorType": "Function<NoMethodError>"', "}", "tagged 12")
    first, second = run.statements
    assert first.error is not None
    assert (first.error.type, len(first.lines)) == ("NoMethodError", 5)
    assert second.text == "tagged 12"
    go = run_of("panic: runtime error: index out of range", "", "goroutine 1 [running]:", "main.handle(...)")
    assert [len(one.lines) for one in go.statements] == [4]


CAUGHT = {
    "python logger": f"[ERROR]\t2026-03-03T10:00:00.000Z\t{ONE}\tarchive failed",
    "node console": f"2026-03-03T10:00:00.000Z\t{ONE}\tERROR\tupstream said 403",
    "powertools": json.dumps({"level": "ERROR", "message": "lookup failed", "function_request_id": ONE}),
    "structlog": json.dumps(
        {"event": "send failed", "level": "error", "error": {"type": "AuthError", "message": "401"}}
    ),
    "log4j": f"2026-03-03 10:00:00 {ONE} ERROR Reserve - could not reserve seat",
    "pino": json.dumps({"level": 50, "msg": "boom"}),
}


@pytest.mark.parametrize("said", CAUGHT.values(), ids=CAUGHT.keys())
def test_of_a_run_that_complains_and_goes_on_nobody_says_how_it_ended(said: str) -> None:
    run = run_of(said, "answering 500")
    assert run.ending is Ending.UNKNOWN
    assert len(run.complaints) == 1


def test_a_traceback_without_a_level_is_a_complaint_and_an_error_raised_while_handling_it_belongs_to_it() -> None:
    run = run_of(
        "could not count",
        "Traceback (most recent call last):",
        '  File "/var/task/app.py", line 24, in handler',
        "KeyError: 'tenant'",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        '  File "/var/task/app.py", line 68, in count',
        "ValueError: no name",
    )
    assert run.ending is Ending.UNKNOWN
    assert [len(one.lines) for one in run.complaints] == [10]


NOISE = (
    "LAMBDA_WARNING: Unhandled exception. The most likely cause is an issue in the function code.",
    "2026-02-20 10:14:02 UTC | DD_EXTENSION | ERROR | Too many errors for endpoint 'https://intake.example'",
    "ERROR StatusLogger No Log4j 2 configuration file found. Using default configuration",
    "[INFO]\t2026-03-03T10:00:00.000Z\t1\t[ERROR] TypeError: only told",
    f'[INFO]\t2026-03-03T10:00:00.000Z\t{TWO}\tforward: "Task timed out after 3.00 seconds"',
)


@pytest.mark.parametrize("said", NOISE)
def test_noise_and_what_is_told_as_information_leave_a_run_well(said: str) -> None:
    assert run_of(said).ending is Ending.WELL


@pytest.mark.parametrize(
    ("said", "tail", "ending"),
    [
        (f"2026-03-03T10:00:00.000Z {ONE} Task timed out after 3.00 seconds", "Status: timeout", Ending.TIMED_OUT),
        (
            f"RequestId: {ONE} Error: Runtime exited with error: signal: killed\nRuntime.ExitError",
            "Status: error",
            Ending.KILLED,
        ),
        (
            f"RequestId: {ONE} Error: Runtime exited with error: exit status 1\nRuntime.ExitError",
            "Status: error",
            Ending.FAILED,
        ),
        ("working", "Status: error\tError Type: Runtime.OutOfMemory", Ending.KILLED),
        ("working", "", Ending.WELL),
    ],
)
def test_lambda_itself_says_how_a_run_ended(said: str, tail: str, ending: Ending) -> None:
    assert run_of(said, tail=tail).ending is ending


def platform(kind: str, request: str, **record: object) -> str:
    return json.dumps({"time": "t", "type": f"platform.{kind}", "record": {"requestId": request, **record}})


def test_records_of_the_json_format_are_runs_too() -> None:
    metrics = {"memorySizeMB": 256, "maxMemoryUsedMB": 71}
    (run,) = runs_of(platform("start", ONE), platform("report", ONE, status="timeout", metrics=metrics))
    assert (run.ending, run.memory, run.request_id) == (Ending.TIMED_OUT, (256, 71), ONE)


def test_runs_that_interleave_are_told_apart_by_the_ids_on_their_lines() -> None:
    first, second = runs_of(
        f"START RequestId: {ONE} Version: $LATEST",
        f"START RequestId: {TWO} Version: $LATEST",
        f"2026-03-03T10:00:00.000Z\t{ONE}\tERROR\tInvoke Error \t{{}}",
        f"2026-03-03T10:00:00.000Z\t{TWO}\tINFO\tgood",
        report(TWO),
        report(ONE),
    )
    assert (first.request_id, first.ending) == (ONE, Ending.FAILED)
    assert (second.request_id, second.ending) == (TWO, Ending.WELL)


def test_what_is_said_while_an_environment_starts_belongs_to_its_first_run() -> None:
    (run,) = runs_of(
        "INIT_START Runtime Version: python:3.12.v89",
        "[ERROR] Runtime.ImportModuleError: Unable to import module 'a': No module named 'b'",
        "INIT_REPORT Init Duration: 241.33 ms\tPhase: init\tStatus: error\tError Type: Runtime.ImportModuleError",
        f"START RequestId: {ONE} Version: $LATEST",
        f"END RequestId: {ONE}",
        report(tail="Status: error\tError Type: Runtime.ImportModuleError"),
    )
    assert run.has_failed_init
    assert run.error_type == "Runtime.ImportModuleError"
    assert len(run.complaints) == 1


def test_a_run_whose_first_lines_are_missing_keeps_its_last_words_and_says_so() -> None:
    (run,) = runs_of("[ERROR] TypeError: x", f"END RequestId: {ONE}", report())
    assert run.is_cut
    assert run.ending is Ending.FAILED


def test_lines_of_an_environment_that_shuts_down_are_no_run() -> None:
    shut = json.dumps({"errorMessage": "SIGTERM", "errorType": "Init<SignalException>", "stackTrace": []})
    (run,) = runs_of("Init error when loading handler", shut)
    assert run.is_outside
    assert run.ending is Ending.UNKNOWN


def test_a_wording_whose_sample_misbehaves_does_not_load() -> None:
    with pytest.raises(InvariantBroken, match="spam"):
        checked_pattern({"id": "spam", "match": "eggs", "fires": ["spam"], "quiet": []})
    with pytest.raises(InvariantBroken, match="eggs"):
        checked_pattern({"id": "spam", "match": "eggs", "fires": [], "quiet": ["eggs"]})
