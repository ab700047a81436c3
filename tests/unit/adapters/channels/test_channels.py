"""Each channel's own client, against a server that speaks the other side's protocol."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.support.clock import FakeClock
from tests.support.investigations.notices import HOSTILE, a_notice, a_sender
from tests.support.peers.http_peer import Answer, a_peer

from affidavit.adapters.channels.github import GitHubNotifier, code_block
from affidavit.adapters.channels.pagerduty_note import DEDUP_SOURCE, SOURCE, PagerDutyNotifier
from affidavit.adapters.channels.slack_app import SlackAppNotifier
from affidavit.adapters.channels.slack_webhook import SlackWebhookNotifier
from affidavit.adapters.channels.teams import TeamsNotifier
from affidavit.adapters.channels.webhook import WebhookNotifier
from affidavit.errors import UpstreamFailed
from affidavit.ports.notice_record import AlertOrigin, NoticeQuote
from affidavit.ports.notifier import AskedToWait
from affidavit.wire.body_signature import is_signed

OK = Answer(body={"ok": True, "channel": "C024BE91L", "ts": "1768471200.000100"})


def texts(value: Any, key: str = "text") -> list[str]:
    """Every string under this key, however deep."""
    if isinstance(value, dict):
        own = [value[key]] if isinstance(value.get(key), str) else []
        return own + [one for inner in value.values() for one in texts(inner, key)]
    return [one for inner in value for one in texts(inner, key)] if isinstance(value, list) else []


def types(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {str(value.get("type"))} | {one for inner in value.values() for one in types(inner)}
    return {one for inner in value for one in types(inner)} if isinstance(value, list) else set()


# --- Slack -----------------------------------------------------------------------------------------------------------


def test_a_slack_webhook_gets_cause_evidence_plan_gaps_and_a_link() -> None:
    with a_peer() as peer:
        SlackWebhookNotifier(sender=a_sender(), url=f"{peer.url}/services/x").notify(a_notice(), earlier="")
    said = "".join(texts(peer.sent[0].json["blocks"]))
    for part in ("s3:GetObject was denied", "Evidence", "get_recent_logs /events/0/message", "Plan", "Not known"):
        assert part in said
    assert peer.sent[0].json["blocks"][-1]["elements"][0]["url"] == "https://console.example/incidents/inc-1"


def test_in_slack_text_of_a_log_neither_mentions_nor_links_nor_formats() -> None:
    with a_peer() as peer:
        SlackWebhookNotifier(sender=a_sender(), url=peer.url).notify(a_notice(HOSTILE), earlier="")
    message = peer.sent[0].json
    # Only kinds of text that Slack does not parse; no link, user, channel or mrkdwn element.
    assert types(message["blocks"]) <= {
        *("header", "plain_text", "rich_text", "rich_text_section", "rich_text_preformatted", "text"),
        *("actions", "button", "None"),
    }
    assert HOSTILE in "".join(texts(message["blocks"]))
    assert (message["mrkdwn"], message["parse"], message["link_names"]) == (False, "none", False)
    assert not re.search(r"<[!@#h]|https?://|@\w", message["text"])


def test_the_slack_app_writes_one_message_and_updates_it_in_place() -> None:
    with a_peer(OK) as peer:
        slack = SlackAppNotifier(sender=a_sender(), token="xoxb-1", channel="C024BE91L", api=f"{peer.url}/api")
        name = slack.notify(a_notice(), earlier="")
        again = slack.notify(a_notice("it is over"), earlier=name)
    assert name == again == "C024BE91L:1768471200.000100"
    assert [one.path for one in peer.sent] == ["/api/chat.postMessage", "/api/chat.update"]
    assert peer.sent[1].json["ts"] == "1768471200.000100"
    assert {one.headers["authorization"] for one in peer.sent} == {"Bearer xoxb-1"}


def test_a_slack_message_that_was_deleted_is_written_anew() -> None:
    gone = Answer(body={"ok": False, "error": "message_not_found"})
    with a_peer(gone, OK) as peer:
        slack = SlackAppNotifier(sender=a_sender(), token="t", channel="C1", api=peer.url)
        assert slack.notify(a_notice(), earlier="C1:1.1") == "C024BE91L:1768471200.000100"
    assert [one.path for one in peer.sent] == ["/chat.update", "/chat.postMessage"]


@pytest.mark.parametrize("error", ["invalid_auth", "missing_scope", "not_in_channel", "something_new"])
def test_slack_answering_200_with_an_error_is_a_failure_with_a_hint(error: str) -> None:
    with a_peer(Answer(body={"ok": False, "error": error})) as peer, pytest.raises(UpstreamFailed, match=error) as it:
        SlackAppNotifier(sender=a_sender(), token="t", channel="C1", api=peer.url).notify(a_notice(), earlier="")
    assert it.value.hint


def test_slack_may_ask_to_slow_down() -> None:
    with a_peer(Answer(status=429, headers={"Retry-After": "30"})) as peer, pytest.raises(AskedToWait) as pause:
        SlackAppNotifier(sender=a_sender(), token="t", channel="C1", api=peer.url).notify(a_notice(), earlier="")
    assert pause.value.seconds == 30


# --- Teams -----------------------------------------------------------------------------------------------------------


def test_teams_gets_an_adaptive_card_without_markdown_or_mentions() -> None:
    with a_peer(Answer(status=202, body=b"")) as peer:
        TeamsNotifier(sender=a_sender(), url=f"{peer.url}/workflows/x?sig=1").notify(a_notice(HOSTILE), earlier="")
    message = peer.sent[0].json
    card = message["attachments"][0]["content"]
    assert (message["type"], card["type"]) == ("message", "AdaptiveCard")
    assert message["attachments"][0]["contentType"] == "application/vnd.microsoft.card.adaptive"
    # A TextBlock would read Markdown; runs do not.
    assert types(card) == {"AdaptiveCard", "RichTextBlock", "TextRun", "Action.OpenUrl", "None"}
    assert card["msteams"] == {"width": "Full"}
    assert card["actions"][0]["url"] == "https://console.example/incidents/inc-1"
    assert HOSTILE in "".join(texts(card))


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f525", '"'])
def test_a_message_stays_below_the_size_that_teams_and_slack_take(letter: str) -> None:
    long = letter * 4_000
    quotes = tuple(NoticeQuote(shows=long, text=long[:400], cut=9, place=long) for _ in range(100))
    notice = a_notice(long, evidence=quotes, gaps=(long,) * 100)
    with a_peer(Answer(), Answer()) as peer:
        TeamsNotifier(sender=a_sender(), url=peer.url).notify(notice, earlier="")
        SlackWebhookNotifier(sender=a_sender(), url=peer.url).notify(notice, earlier="")
    card, message = peer.sent
    assert len(card.body) < 20_000
    assert len(json.dumps(message.json["blocks"])) < 13_000
    for sent in (card, message):
        assert any(re.fullmatch(r"and 9\d more\n?", text) for text in texts(sent.json))
        assert "https://console.example/incidents/inc-1" in sent.body.decode()


def test_a_usual_notice_loses_no_word() -> None:
    with a_peer() as peer:
        TeamsNotifier(sender=a_sender(), url=peer.url).notify(a_notice("y" * 590), earlier="")
    assert "y" * 590 in texts(peer.sent[0].json)


# --- PagerDuty -------------------------------------------------------------------------------------------------------


def pagerduty(url: str) -> PagerDutyNotifier:
    return PagerDutyNotifier(sender=a_sender(), token="u+abc", author="bot@example.com", api=url)


def test_the_pagerduty_incident_that_alerted_us_gets_a_note() -> None:
    asked = a_notice(
        "see https://evil.example www.evil.example mailto:x@evil.example",
        origin=AlertOrigin(source=SOURCE, key="Q2B6FNR4"),
    )
    with a_peer(Answer(status=201, body={"note": {"id": "P1"}})) as peer:
        assert pagerduty(peer.url).notify(asked, earlier="") == "Q2B6FNR4"
    assert (peer.sent[0].method, peer.sent[0].path) == ("POST", "/incidents/Q2B6FNR4/notes")
    assert peer.sent[0].headers["authorization"] == "Token token=u+abc"
    assert peer.sent[0].headers["from"] == "bot@example.com"
    note = peer.sent[0].json["note"]["content"]
    assert "see https[:]//evil.example www[.]evil.example mailto[:]x@evil.example" in note
    assert not re.search(r"https?://|www\.|mailto:", note.removesuffix("https://console.example/incidents/inc-1"))
    assert note.endswith("https://console.example/incidents/inc-1")


def test_a_dedup_key_leads_to_its_pagerduty_incident() -> None:
    asked = a_notice(origin=AlertOrigin(source=DEDUP_SOURCE, key="disk/full&x"))
    with a_peer(Answer(body={"incidents": [{"id": "Q77"}]}), Answer(status=201, body={})) as peer:
        assert pagerduty(peer.url).notify(asked, earlier="") == "Q77"
    assert peer.sent[0].path.startswith("/incidents?incident_key=disk%2Ffull%26x&")
    assert peer.sent[1].path == "/incidents/Q77/notes"


def test_a_dedup_key_that_pagerduty_does_not_know_is_tried_again_later() -> None:
    asked = a_notice(origin=AlertOrigin(source=DEDUP_SOURCE, key="k"))
    with a_peer(Answer(body={"incidents": []})) as peer, pytest.raises(UpstreamFailed) as failure:
        pagerduty(peer.url).notify(asked, earlier="")
    assert failure.value.is_retryable


def test_an_incident_that_pagerduty_did_not_bring_is_not_told_there() -> None:
    assert not pagerduty("https://api.pagerduty.com").takes(a_notice())
    assert not pagerduty("https://api.pagerduty.com").takes(a_notice(origin=AlertOrigin(source="grafana", key="x")))


# --- webhook ---------------------------------------------------------------------------------------------------------


def test_a_webhook_gets_the_whole_notice_with_a_signature_over_time_and_body() -> None:
    clock = FakeClock()
    with a_peer() as peer:
        WebhookNotifier(sender=a_sender(), url=peer.url, secret="s", clock=clock).notify(a_notice(HOSTILE), earlier="")
    sent = peer.sent[0]
    stamp, signature = sent.headers["x-affidavit-timestamp"], sent.headers["x-affidavit-signature"]
    assert stamp == str(int(clock.now().timestamp()))
    assert is_signed("s", sent.body, stamp=stamp, signature=signature)
    assert not is_signed("other", sent.body, stamp=stamp, signature=signature)
    assert not is_signed("s", sent.body + b" ", stamp=stamp, signature=signature)
    assert not is_signed("s", sent.body, stamp=str(int(stamp) + 1), signature=signature)
    assert sent.headers["idempotency-key"] == "inc-1#2"
    assert (sent.json["version"], sent.json["cause"], sent.json["severity"]) == (1, HOSTILE, "high")


def test_nothing_is_signed_by_an_empty_secret() -> None:
    from affidavit.wire.body_signature import signature_of

    assert not is_signed("", b"x", stamp="1", signature=signature_of("", b"x", stamp="1"))


# --- GitHub ----------------------------------------------------------------------------------------------------------


def test_a_plan_is_a_reply_or_a_comment_and_a_new_message_where_there_is_no_thread() -> None:
    plan = replace(a_notice(), plan_id="plan-1")
    locked = Answer(body={"ok": False, "error": "restricted_action_thread_locked"})
    with a_peer(OK, locked, OK) as peer:
        slack = SlackAppNotifier(sender=a_sender(), token="t", channel="C1", api=peer.url)
        assert slack.notify(plan, earlier="C1:1.1") == "C1:1.1"
        assert slack.notify(plan, earlier="C1:1.1") == "C024BE91L:1768471200.000100"
    assert [one.json.get("thread_ts") for one in peer.sent] == ["1.1", "1.1", None]
    assert peer.sent[0].json["reply_broadcast"] is True
    with a_peer(Answer(body={"number": 7})) as peer:
        github = GitHubNotifier(sender=a_sender(), token="ghp", repository="o/r", api=peer.url)
        assert github.notify(plan, earlier="42") == "42"
    assert [(one.method, one.path) for one in peer.sent] == [("POST", "/repos/o/r/issues/42/comments")]


def test_github_has_one_issue_per_incident() -> None:
    with a_peer(Answer(status=201, body={"number": 42}), Answer(body={"number": 42})) as peer:
        github = GitHubNotifier(sender=a_sender(), token="ghp", repository="o/r", api=peer.url)
        number = github.notify(a_notice(), earlier="")
        assert github.notify(a_notice("again"), earlier=number) == number == "42"
    assert [(one.method, one.path) for one in peer.sent] == [
        ("POST", "/repos/o/r/issues"),
        ("PATCH", "/repos/o/r/issues/42"),
    ]
    assert peer.sent[0].headers["authorization"] == "Bearer ghp"


@pytest.mark.parametrize("status", [301, 404, 410])
def test_an_issue_that_was_deleted_or_moved_away_is_opened_anew(status: int) -> None:
    with a_peer(Answer(status=status), Answer(status=201, body={"number": 43})) as peer:
        github = GitHubNotifier(sender=a_sender(), token="t", repository="o/r", api=peer.url)
        assert github.notify(a_notice(), earlier="42") == "43"
    assert [one.method for one in peer.sent] == ["PATCH", "POST"]


def test_an_issue_that_github_refuses_to_change_is_not_opened_twice() -> None:
    with a_peer(Answer(status=403)) as peer, pytest.raises(UpstreamFailed, match="403"):
        GitHubNotifier(sender=a_sender(), token="t", repository="o/r", api=peer.url).notify(a_notice(), earlier="42")
    assert [one.method for one in peer.sent] == ["PATCH"]


def test_in_an_issue_text_of_a_log_stands_in_code_alone() -> None:
    with a_peer(Answer(status=201, body={"number": 1})) as peer:
        GitHubNotifier(sender=a_sender(), token="t", repository="o/r", api=peer.url).notify(
            a_notice(HOSTILE), earlier=""
        )
    issue = peer.sent[0].json
    fences = re.findall(r"^(`{3,})text\n(.*?)\n\1$", issue["body"], re.MULTILINE | re.DOTALL)
    outside = issue["body"]
    for fence, text in fences:
        outside = outside.replace(f"{fence}text\n{text}\n{fence}", "")
    assert not re.search(r"evil|@|<|#|\bclick", outside)
    assert "@octocat" not in issue["title"]
    assert "#1" not in issue["title"]


@pytest.mark.parametrize("text", ["```", "a````b", "`", "plain", "```text\nx\n```"])
def test_a_code_block_is_closed_by_nothing_in_it(text: str) -> None:
    lines = code_block(text).splitlines()
    fence = lines[-1]
    assert set(fence) == {"`"}
    assert fence not in text
    assert json.dumps(lines[1:-1]) == json.dumps(text.splitlines())
