"""The real client of Comprehend, talking to an endpoint of ours that speaks its protocol."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.comprehend import MOST_BYTES, ComprehendDetector
from affidavit.entrypoints.mcp.wiring import Wish, build_calls
from affidavit.errors import Throttled, UpstreamFailed
from affidavit.redaction.answer import WITHHELD, redact_answer
from affidavit.redaction.batched_detection import PersonalDataInquiry
from affidavit.redaction.redact import Redactor
from affidavit.settings import Settings

NAME = "Zoë Müller"


class Comprehend:
    """Knows one name and every date. `refusals` are answered first, in their order."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.refusals: list[tuple[int, dict[str, Any]]] = []
        self.always: tuple[int, dict[str, Any]] | None = None
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                service.requests.append((self.headers["x-amz-target"], body))
                status, answer = service.always or (
                    service.refusals.pop(0) if service.refusals else service.answer(body)
                )
                sent = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/x-amz-json-1.1")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        text = body["Text"]
        self.texts.append(text)
        if len(text.encode()) > 100_000:
            return 400, {"__type": "TextSizeLimitExceededException", "message": "too long"}
        kinds = (("NAME", NAME), ("DATE_TIME", r"\d{4}-\d\d-\d\d"))
        return 200, {
            "Entities": [
                {"Type": kind, "Score": 0.9, "BeginOffset": match.start(), "EndOffset": match.end()}
                for kind, pattern in kinds
                for match in re.finditer(pattern, text)
            ]
        }


@pytest.fixture
def comprehend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Comprehend]:
    service = Comprehend()
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL_COMPREHEND", f"http://127.0.0.1:{service.server.server_address[1]}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    yield service
    service.server.shutdown()
    service.server.server_close()


def a_redactor() -> Redactor:
    return Redactor(hides_personal=True, inquiry=PersonalDataInquiry(ComprehendDetector(AwsClients("ca-central-1"))))


def test_a_name_goes_and_a_date_stays(comprehend: Comprehend) -> None:
    redacted = a_redactor().redact(f"2026-01-02 😀 started by {NAME} 😀 ok")
    assert redacted.text == "2026-01-02 😀 started by [REDACTED:name] 😀 ok"
    assert redacted.counts == {"name": 1}
    target, body = comprehend.requests[0]
    assert target == "Comprehend_20171127.DetectPiiEntities"
    assert body["LanguageCode"] == "en"


def test_a_long_text_goes_in_pieces_that_the_service_takes_and_none_is_left_out(comprehend: Comprehend) -> None:
    line = f"2026-01-02 ä😀 nothing to see, by {NAME}\n"
    text = line * 6_000
    assert a_redactor().redact(text).text == text.replace(NAME, "[REDACTED:name]")
    assert len(comprehend.texts) >= len(text.encode()) // MOST_BYTES
    assert all(sent.endswith("\n") for sent in comprehend.texts)


def test_a_line_longer_than_the_service_takes_is_redacted_to_its_end(comprehend: Comprehend) -> None:
    text = ("x" * 990 + f" {NAME} ") * 300
    assert a_redactor().redact(text).text == text.replace(NAME, "[REDACTED:name]")


def test_half_a_surrogate_pair_does_not_shift_what_is_hidden(comprehend: Comprehend) -> None:
    assert a_redactor().redact(f"\ud83d {NAME} \ude00").text == "\ud83d [REDACTED:name] \ude00"


def test_a_throttled_question_is_asked_again(comprehend: Comprehend) -> None:
    comprehend.refusals = [(400, {"__type": "ThrottlingException", "message": "slow down"})]
    assert a_redactor().redact(f"by {NAME}").text == "by [REDACTED:name]"
    assert len(comprehend.requests) == 2


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (400, {"__type": "ThrottlingException", "message": "slow down"}, Throttled),
        (500, {"__type": "InternalServerException", "message": "m"}, UpstreamFailed),
        (400, {"__type": "AccessDeniedException", "message": "arn:aws:iam::1:role/x may not"}, UpstreamFailed),
        (200, {}, UpstreamFailed),
        (200, {"Entities": [{"Type": "NAME", "BeginOffset": 2, "EndOffset": 99}]}, UpstreamFailed),
        (200, {"Entities": [{"Type": "NAME", "BeginOffset": 5, "EndOffset": 5}]}, UpstreamFailed),
        (200, {"Entities": [{"BeginOffset": 0, "EndOffset": 2}]}, UpstreamFailed),
    ],
)
def test_a_failed_question_withholds_the_text_and_says_so(
    comprehend: Comprehend, status: int, body: dict[str, Any], error: type[UpstreamFailed]
) -> None:
    comprehend.always = (status, body)
    with pytest.raises(error):
        a_redactor().redact(f"by {NAME}")
    answer, tally = redact_answer({"excerpt": f"by {NAME}", "finding_id": "F-001"}, a_redactor())
    assert answer == {"excerpt": WITHHELD, "finding_id": "F-001"}
    assert len(tally.gaps) == 1 and "Comprehend" in tally.gaps[0]
    assert "arn:aws:iam" not in tally.gaps[0]


def test_nobody_there_is_a_gap_too(comprehend: Comprehend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_COMPREHEND", "http://127.0.0.1:1")
    answer, tally = redact_answer({"excerpt": "x"}, a_redactor())
    assert answer == {"excerpt": WITHHELD}
    assert "could not be reached" in tally.gaps[0]


def test_the_next_answer_is_whole_again_after_a_failure(comprehend: Comprehend) -> None:
    redactor = a_redactor()
    comprehend.always = (500, {})
    assert redact_answer({"excerpt": f"by {NAME}"}, redactor)[0] == {"excerpt": WITHHELD}
    comprehend.always = None
    assert redact_answer({"excerpt": f"by {NAME}"}, redactor)[0] == {"excerpt": "by [REDACTED:name]"}


def test_the_server_asks_comprehend_when_the_settings_say_so(comprehend: Comprehend, tmp_path: Path) -> None:
    names = {"ENABLE_PII_REDACTION": "true", "ENABLE_COMPREHEND": "true", "AFFIDAVIT_DATA": str(tmp_path)}
    calls = build_calls(Settings.from_environment(names), Wish(bundles=tmp_path))
    assert comprehend.requests == []
    assert calls.redactor.redact(f"by {NAME}").text == "by [REDACTED:name]"
    plain = build_calls(Settings.from_environment({"ENABLE_PII_REDACTION": "true"}), Wish(bundles=tmp_path))
    assert plain.redactor.redact(f"by {NAME}").text == f"by {NAME}"
