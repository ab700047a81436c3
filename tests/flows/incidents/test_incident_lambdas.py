"""The Lambda functions on a laptop AWS: DynamoDB, S3 and Parameter Store are asked over HTTP."""

import json
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from tests.support.clock import FakeClock
from tests.support.investigations.incidents import an_incident

from affidavit.adapters.aws import mcp_api_key
from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.mcp_api_key import SsmApiKey, get_mcp_api_key
from affidavit.entrypoints.lambdas import on_incident, on_watchdog_tick, secret_rereading
from affidavit.errors import InputRefused
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import Status


class Context:
    invoked_function_arn = ""

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


@pytest.fixture
def offline(aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CHAT_PROVIDER", "offline")
    monkeypatch.setenv("MAX_INCIDENTS_PER_HOUR", "500")
    on_incident.application.cache_clear()
    yield
    on_incident.application.cache_clear()


def an_event(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"Records": [{"Sns": {"MessageId": uuid.uuid4().hex, "Message": json.dumps(one)}} for one in messages]}


def report(name: str) -> dict[str, str]:
    return {"function_name": f"missing-{name[:8]}", "incident_id": name, "error_type": "ClientError"}


@pytest.mark.usefixtures("offline")
def test_an_alert_about_a_function_that_is_not_there_ends_without_an_invented_diagnosis(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = uuid.uuid4().hex
    answer = on_incident.handler(an_event(report(name)), Context())
    assert answer["statusCode"] == 200
    assert json.loads(answer["body"]) == [{"incident_id": name, "outcome": "ran"}]
    _, supervisor = on_incident.application("")
    state, context = supervisor.states.get_state(IncidentId(name)), supervisor.contexts.get_context(IncidentId(name))
    assert state is not None
    assert context is not None
    assert state.status is Status.FAILED
    assert f"function missing-{name[:8]}: there is no such thing" in str(state.error_reason)
    assert context.diagnosis is None
    events = [json.loads(line).get("event") for line in capsys.readouterr().out.splitlines()]
    assert {"agent_metrics", "agent_reasoning_summary"} <= set(events)
    again = on_incident.handler(an_event(report(name)), Context())
    assert json.loads(again["body"]) == [{"incident_id": name, "outcome": "already handled"}]


@pytest.mark.usefixtures("offline")
def test_a_bad_record_is_kept_in_the_bucket_and_the_good_one_is_handled() -> None:
    name = uuid.uuid4().hex
    event = an_event(report(name))
    event["Records"].insert(0, {"Sns": {"MessageId": "m", "Message": f"no json {name}"}})
    body = json.loads(on_incident.handler(event, Context())["body"])
    assert [one["incident_id"] for one in body] == [None, name]
    app, _ = on_incident.application("")
    kept = [app.objects.get(one.key) for one in app.objects.list("quarantine/")]
    assert any(name.encode() in text for text in kept)


@pytest.mark.usefixtures("offline")
def test_the_watchdog_finds_nothing_to_do_when_nothing_is_due() -> None:
    assert on_watchdog_tick.handler({}, Context())["closed"] == 0


@pytest.mark.usefixtures("offline")
def test_the_watchdog_runs_what_lost_its_worker_and_closes_what_lost_three() -> None:
    _, supervisor = on_incident.application("")
    an_hour_ago = FakeClock(datetime.now(UTC) - timedelta(hours=1))
    states = IncidentStates(supervisor.states.table, an_hour_ago)
    once, thrice = an_incident(uuid.uuid4().hex), an_incident(uuid.uuid4().hex)
    states.take(once, None, deadline=an_hour_ago.now() + timedelta(minutes=5))
    for _ in range(3):
        seen = states.get_state(thrice.incident_id)
        assert states.take(thrice, seen, deadline=an_hour_ago.now() + timedelta(minutes=5)) is not None
        an_hour_ago.pass_by(timedelta(minutes=2))
    done = on_watchdog_tick.handler({}, Context())
    assert done["driven"] >= 1
    assert done["closed"] >= 1
    driven, closed = (supervisor.states.get_state(one.incident_id) for one in (once, thrice))
    assert driven is not None
    assert (driven.status.is_open, driven.attempts) == (False, 2)
    assert "no such thing" in str(driven.error_reason), "it was investigated; the function is not there"
    assert closed is not None
    assert (closed.status, closed.error_reason, closed.attempts) == (Status.FAILED, "stale watchdog timeout", 3)


def test_the_key_of_the_mcp_server_is_read_from_its_parameter_and_read_again_when_refused(
    aws_environment: dict[str, str],
) -> None:
    clients, ssm = AwsClients("ca-central-1"), boto3.client("ssm", "ca-central-1")
    name = f"/incident-response/{uuid.uuid4().hex}"
    ssm.put_parameter(Name=name, Value="first", Type="SecureString")
    assert get_mcp_api_key(clients, name) == "first"
    key = SsmApiKey(clients, name)
    assert key(refresh=False) == "first"
    ssm.put_parameter(Name=name, Value="second", Type="SecureString", Overwrite=True)
    assert key(refresh=False) == "first", "kept for five minutes"
    assert key(refresh=True) == "second"


def test_a_key_older_than_five_minutes_is_read_again(
    aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clients, ssm = AwsClients("ca-central-1"), boto3.client("ssm", "ca-central-1")
    name, now = f"/incident-response/{uuid.uuid4().hex}", [1_000.0]
    monkeypatch.setattr(mcp_api_key, "time", SimpleNamespace(monotonic=lambda: now[0]))
    ssm.put_parameter(Name=name, Value="first", Type="SecureString")
    key = SsmApiKey(clients, name)
    assert key(refresh=False) == "first"
    ssm.put_parameter(Name=name, Value="second", Type="SecureString", Overwrite=True)
    now[0] += 299
    assert key(refresh=False) == "first"
    now[0] += 2
    assert key(refresh=False) == "second"


def test_a_parameter_that_is_missing_is_a_clear_error(aws_environment: dict[str, str]) -> None:
    with pytest.raises(InputRefused, match="/incident-response/none") as caught:
        get_mcp_api_key(AwsClients("ca-central-1"), "/incident-response/none")
    assert "SecureString" in caught.value.hint


def test_a_deployed_function_reads_its_secrets_from_parameter_store_and_reads_them_again(
    aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ssm, path = boto3.client("ssm", "ca-central-1"), f"/incident-response/{uuid.uuid4().hex}"
    monkeypatch.setenv("SECRETS_PATH", path)
    monkeypatch.setenv("SLACK_CHANNEL", "C1")
    ssm.put_parameter(Name=f"{path}/SLACK_BOT_TOKEN", Value="first", Type="SecureString")
    ssm.put_parameter(Name=f"{path}/CHAT_API_KEY", Value="in the open", Type="String")
    on_incident.application.cache_clear()
    app = on_incident.application("")[0]
    assert [channel.name for channel in app.channels if channel.name != "sns"] == ["slack"]
    assert (app.settings.slack_bot_token, app.settings.chat_api_key) == ("first", "")
    ssm.put_parameter(Name=f"{path}/SLACK_BOT_TOKEN", Value="second", Type="SecureString", Overwrite=True)
    now = [time.monotonic()]
    monkeypatch.setattr(secret_rereading, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(on_incident.renew, "_since", now[0])
    for later, token in ((800, "first"), (200, "second")):
        now[0] += later
        on_incident.renew()
        assert on_incident.application("")[0].settings.slack_bot_token == token
    on_incident.application.cache_clear()
