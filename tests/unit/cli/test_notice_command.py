"""`affidavit notice`, against a server on this machine."""

import pytest
from tests.support.peers.http_peer import Answer, a_peer
from typer.testing import CliRunner

from affidavit.entrypoints.cli.main import app
from affidavit.errors import InputRefused


def run(*arguments: str, **environment: str) -> tuple[int, str]:
    private = {"NOTICE_PRIVATE_HOSTS": "127.0.0.1", **environment}
    result = CliRunner().invoke(app, ["notice", *arguments], env=private)
    if isinstance(result.exception, InputRefused):
        raise result.exception
    return result.exit_code, result.output


def test_a_test_notice_arrives_and_says_that_it_is_one() -> None:
    with a_peer() as peer:
        code, output = run("test", SLACK_WEBHOOK_URL=peer.url)
    assert (code, output) == (0, "slack-webhook: took the test notice\n")
    assert b"nothing happened" in peer.sent[0].body


def test_a_channel_that_refuses_is_told_with_what_to_do_and_the_others_are_tried() -> None:
    with a_peer(Answer(status=404)) as gone, a_peer() as peer:
        code, output = run("test", SLACK_WEBHOOK_URL=gone.url, TEAMS_WEBHOOK_URL=peer.url)
    assert code == 1
    assert "slack-webhook: 127.0.0.1 answered 404" in output
    assert "make a new one" in output
    assert "teams: took the test notice" in output


def test_only_the_channel_that_is_named_is_tried() -> None:
    with a_peer() as slack, a_peer() as teams:
        code, output = run("test", "--channel", "teams", SLACK_WEBHOOK_URL=slack.url, TEAMS_WEBHOOK_URL=teams.url)
    assert (code, output) == (0, "teams: took the test notice\n")
    assert (len(slack.sent), len(teams.sent)) == (0, 1)


def test_a_host_that_no_setting_names_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = run("test", TEAMS_WEBHOOK_URL="https://elsewhere.example/x")
    assert code == 1
    assert "add the host to NOTICE_HOSTS" in output


def test_the_key_of_pagerduty_is_tried_without_writing_anything() -> None:
    from tests.support.investigations.notices import a_notice, a_sender

    from affidavit.adapters.channels.pagerduty_note import PagerDutyNotifier

    with a_peer(Answer(body={"abilities": []})) as peer:
        notifier = PagerDutyNotifier(sender=a_sender(), token="t", author="a@example.com", api=peer.url)
        notifier.notify(a_notice(is_test=True), earlier="")
    assert [(one.method, one.path) for one in peer.sent] == [("GET", "/abilities")]


def test_the_list_says_what_each_channel_is_told_of() -> None:
    code, output = run("channels", TEAMS_WEBHOOK_URL="https://t.example/x", NOTICE_FLOOR="teams=high")
    assert (code, output) == (0, "teams: high and above, every end, at most 10 a minute\n")


def test_without_a_channel_there_is_nothing_to_test() -> None:
    with pytest.raises(InputRefused, match="no channel is set up"):
        run("test")


def test_a_channel_that_is_not_set_up_or_does_not_exist_is_told_apart() -> None:
    with pytest.raises(InputRefused, match="is not set up"):
        run("test", "--channel", "slack", TEAMS_WEBHOOK_URL="https://t.example/x")
    with pytest.raises(InputRefused, match="does not exist"):
        run("test", "--channel", "pigeon", TEAMS_WEBHOOK_URL="https://t.example/x")
