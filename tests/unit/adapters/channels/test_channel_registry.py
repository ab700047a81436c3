"""Which settings make which channel."""

import pytest
from tests.support.clock import FakeClock
from tests.support.investigations.notices import a_notice

from affidavit.adapters.channels.channel_registry import channels
from affidavit.adapters.channels.unusable import UnusableNotifier
from affidavit.errors import InputRefused
from affidavit.evidence.diagnosis import IncidentSeverity
from affidavit.incidents.notices.channel import Channel, ChannelName
from affidavit.settings import Settings

ALL = {
    "LOGS_BUCKET": "b",
    "ALERT_TOPIC_ARN": "arn:aws:sns:ca-central-1:123456789012:people",
    "SLACK_WEBHOOK_URL": "https://hooks.slack.com/services/sEcReT",
    "SLACK_BOT_TOKEN": "sEcReT",
    "SLACK_CHANNEL": "C1",
    "TEAMS_WEBHOOK_URL": "https://teams.example/sEcReT",
    "PAGERDUTY_TOKEN": "sEcReT",
    "PAGERDUTY_FROM": "bot@example.com",
    "NOTICE_WEBHOOK_URL": "https://in.example/sEcReT",
    "NOTICE_WEBHOOK_SECRET": "sEcReT",
    "GITHUB_NOTICE_REPOSITORY": "o/r",
    "GITHUB_NOTICE_TOKEN": "sEcReT",
}


def made(environment: dict[str, str]) -> tuple[Channel, ...]:
    return channels(Settings.from_environment(environment), FakeClock())


def test_every_channel_is_made_by_its_settings_and_none_without_them() -> None:
    assert {channel.name for channel in made(ALL)} == set(ChannelName)
    assert made({}) == ()


def test_no_secret_of_a_channel_is_printed_with_it() -> None:
    assert "sEcReT" not in repr(made(ALL))
    assert "sEcReT" not in repr(Settings.from_environment(ALL))


@pytest.mark.parametrize(
    "half", ["SLACK_BOT_TOKEN", "SLACK_CHANNEL", "PAGERDUTY_TOKEN", "NOTICE_WEBHOOK_URL", "GITHUB_NOTICE_TOKEN"]
)
def test_half_of_a_channels_settings_is_refused_and_names_the_other_half(half: str) -> None:
    with pytest.raises(InputRefused, match=f"{half} needs"):
        made({half: ALL[half]})


@pytest.mark.parametrize(
    "wrong",
    [
        {"NOTICE_FLOOR": "slack=terrible"},
        {"NOTICE_FLOOR": "carrier-pigeon=high"},
        {"NOTICE_FLOOR": "slack"},
        {"NOTICE_STATES": "slack=BROKEN"},
        {"NOTICE_STATES": "slack=DIAGNOSED|BROKEN"},
        {"GITHUB_NOTICE_REPOSITORY": "../../user/keys", "GITHUB_NOTICE_TOKEN": "t"},
    ],
)
def test_a_setting_that_cannot_be_read_is_refused_with_what_there_is(wrong: dict[str, str]) -> None:
    with pytest.raises(InputRefused) as refusal:
        made(wrong)
    assert refusal.value.hint


def test_a_channel_is_told_what_reaches_its_floor_and_its_states() -> None:
    setting = {"NOTICE_FLOOR": "github=high", "NOTICE_STATES": "github=DIAGNOSED|ERROR"}
    github = next(one for one in made(ALL | setting) if one.name is ChannelName.GITHUB)
    told = [one for one in IncidentSeverity if github.takes(a_notice(severity=one))]
    assert told == [IncidentSeverity.CRITICAL, IncidentSeverity.HIGH]
    assert github.takes(a_notice(severity=None, state="ERROR"))
    assert not github.takes(a_notice(severity=None, state="FAILED"))
    assert github.takes(a_notice(state="TEST", is_test=True))
    slack = next(one for one in made(ALL | setting) if one.name is ChannelName.SLACK)
    assert slack.takes(a_notice(severity=IncidentSeverity.LOW, state="FAILED"))


def test_in_a_deployed_function_a_channel_that_is_not_whole_fails_at_its_notices_and_harms_no_other() -> None:
    settings = {**ALL, "SLACK_BOT_TOKEN": "", "NOTICE_FLOOR": "teams=odd", "SECRETS_PATH": "/x"}
    broken = {one.name: one.notifier for one in made(settings) if isinstance(one.notifier, UnusableNotifier)}
    assert broken.keys() == {ChannelName.SLACK, ChannelName.TEAMS}
    with pytest.raises(InputRefused, match="SLACK_CHANNEL needs SLACK_BOT_TOKEN"):
        broken[ChannelName.SLACK].notify(a_notice(), earlier="")
    with pytest.raises(InputRefused, match="odd"):
        broken[ChannelName.TEAMS].notify(a_notice(), earlier="")
