"""Hundreds of errors, as clients of every runtime word and log them, are each read as the fault they tell of."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from affidavit.agent.rules.alert import RaisedBy
from affidavit.agent.rules.run_history import history
from affidavit.incidents.incident import Signal
from affidavit.yaml_loading import load_yaml

ID = "0f6f52b2-12ac-4a39-a794-d0eecbac6720"
AT = "2026-03-03T10:00:00.000Z"
WORDINGS = Path(__file__).parent / "error_wordings.yaml"


def test_every_wording_is_read_as_the_fault_it_tells_of() -> None:
    told = list(_told())
    assert len(told) > 700
    assert [f"{fault}, not {got}: {line[:150]}" for fault, line in told if (got := _fault(line)) != fault] == []


def _told() -> Iterator[tuple[str, str]]:
    table: Mapping[str, Mapping[str, list[Any]]] = load_yaml(WORDINGS.read_text())
    for fault, by_runtime in table.items():
        for runtime, errors in by_runtime.items():
            yield from ((fault, _logged(runtime, error)) for error in errors)


def _logged(runtime: str, error: Any) -> str:
    """The event that the runtime writes for an error which nothing catches."""
    if runtime == "node":
        stack = [f"{error['errorType']}: {error['errorMessage']}", "    at Runtime.handler (/var/task/index.js:10:11)"]
        return f"{AT}\t{ID}\tERROR\tInvoke Error \t{json.dumps({**error, 'stack': stack})}"
    text = error.replace("\\n", "\n").replace("\\t", "\t")
    kind, _, message = text.partition(": ")
    if runtime == "python":
        bare = kind if kind.startswith("Runtime.") else kind.rpartition(".")[2]
        return (
            f'[ERROR] {bare}: {message}\nTraceback (most recent call last):\n  File "/var/task/app.py", line 12, in h'
        )
    if runtime == "java":
        first, _, causes = text.partition("\n")
        return f"{message.partition(chr(10))[0]}: {kind}\n{first}\n\tat com.acme.App.handle(App.java:47)\n{causes}"
    if runtime == "dotnet":
        return f"{AT}\t{ID}\tfail\t{text}\n   at Acme.Function.Handle(String input) in /src/Function.cs:line 31"
    if runtime == "go":
        return json.dumps({"errorMessage": text, "errorType": "errorString"})
    if runtime == "ruby":
        raised = {"errorMessage": message, "errorType": f"Function<{kind}>", "stackTrace": ["/var/task/app.rb:3"]}
        return f"Error raised from handler method\n{json.dumps(raised, indent=2)}"
    assert runtime == "rust"
    return f'{AT} ERROR Lambda runtime invoke{{requestId="{ID}"}}: app: error={text}'


def _fault(line: str) -> str:
    report = f"REPORT RequestId: {ID}\tDuration: 1.00 ms\tMemory Size: 128 MB\tMax Memory Used: 60 MB\t"
    newest_first = [report, f"END RequestId: {ID}", line, f"START RequestId: {ID} Version: $LATEST"]
    runs = history([{"message": message, "timestamp": AT} for message in newest_first], errors=1.0).runs
    kinds = [reason.kind for run in runs for reason in run.reasons]
    if not kinds or kinds[0] is None:
        return "unread"
    return "network" if kinds[0].family == "network" else kinds[0].fault.value


def test_an_error_is_read_in_the_format_of_every_logger() -> None:
    shapes: Mapping[str, list[str]] = load_yaml((Path(__file__).parent / "log_shapes.yaml").read_text())
    assert len(shapes) > 60
    assert [name for name, events in shapes.items() if _faults_of(events) != {"dependency"}] == []


def _faults_of(events: list[str]) -> set[str]:
    report = "REPORT RequestId: {id}\tDuration: 1.00 ms\tMemory Size: 128 MB\tMax Memory Used: 60 MB\t"
    oldest_first = ["START RequestId: {id} Version: $LATEST", *events, "END RequestId: {id}", report]
    filled = [{"message": one.replace("{id}", ID).replace("{time}", AT), "timestamp": AT} for one in oldest_first]
    runs = history(filled[::-1], errors=1.0, raised=RaisedBy(signal=Signal.ALARM, metric="Errors")).runs
    return {reason.kind.fault.value if reason.kind else "unread" for run in runs for reason in run.reasons}
