"""The table of channels: which settings make which one. A channel whose settings are empty does not exist."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from affidavit.adapters.channels.filters import filter_of
from affidavit.adapters.channels.unusable import UnusableNotifier
from affidavit.errors import InputRefused
from affidavit.incidents.notices.channel import Channel, ChannelName
from affidavit.ports.clock import Clock
from affidavit.ports.notifier import Notifier
from affidavit.settings import Settings

if TYPE_CHECKING:
    from affidavit.adapters.channels.http_sender import Sender


def channels(settings: Settings, clock: Clock) -> tuple[Channel, ...]:
    """Touches no network. Raises InputRefused when a channel's settings are incomplete or contradict each other.

    With `SECRETS_PATH` such a channel fails at each notice instead, until its settings are whole.
    """
    wiring = _Wiring(settings, clock)
    # A deployed function must not lose incidents over a secret that somebody forgot: it fails to tell, and says why.
    make = _made_or_failing if settings.secrets_path else _made
    found = tuple(channel for name in _CHANNELS if (channel := make(name, wiring)) is not None)
    for name in ChannelName if not settings.secrets_path else ():
        filter_of(name, settings)  # a filter that cannot be read is told even when its channel is off
    return found


def _made_or_failing(name: ChannelName, wiring: "_Wiring") -> Channel | None:
    try:
        return _made(name, wiring)
    except InputRefused as error:
        return Channel(name=name, notifier=UnusableNotifier(error))


def _made(name: ChannelName, wiring: "_Wiring") -> Channel | None:
    notifier = _CHANNELS[name](wiring)
    if notifier is None:
        return None
    settings = wiring.settings
    return Channel(
        name=name, notifier=notifier, passes=filter_of(name, settings), per_minute=settings.notices_per_minute
    )


@dataclass(frozen=True)
class _Wiring:
    settings: Settings
    clock: Clock

    @cached_property
    def sender(self) -> "Sender":
        from affidavit.adapters.channels.allowed_destinations import Egress
        from affidavit.adapters.channels.http_sender import Sender

        return Sender(
            egress=Egress(
                hosts=_hosts(self.settings.notice_hosts), private_hosts=_hosts(self.settings.notice_private_hosts)
            )
        )


def _sns(wiring: _Wiring) -> Notifier | None:
    if wiring.settings.is_local or not wiring.settings.alert_topic_arn:
        return None
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.notifier import SnsNotifier

    return SnsNotifier(AwsClients(wiring.settings.region), wiring.settings.alert_topic_arn)


def _slack_webhook(wiring: _Wiring) -> Notifier | None:
    if not wiring.settings.slack_webhook_url:
        return None
    from affidavit.adapters.channels.slack_webhook import SlackWebhookNotifier

    return SlackWebhookNotifier(sender=wiring.sender, url=wiring.settings.slack_webhook_url)


def _slack(wiring: _Wiring) -> Notifier | None:
    settings = wiring.settings
    if not _both(SLACK_BOT_TOKEN=settings.slack_bot_token, SLACK_CHANNEL=settings.slack_channel):
        return None
    from affidavit.adapters.channels.slack_app import SlackAppNotifier

    return SlackAppNotifier(sender=wiring.sender, token=settings.slack_bot_token, channel=settings.slack_channel)


def _teams(wiring: _Wiring) -> Notifier | None:
    if not wiring.settings.teams_webhook_url:
        return None
    from affidavit.adapters.channels.teams import TeamsNotifier

    return TeamsNotifier(sender=wiring.sender, url=wiring.settings.teams_webhook_url)


def _pagerduty(wiring: _Wiring) -> Notifier | None:
    settings = wiring.settings
    if not _both(PAGERDUTY_TOKEN=settings.pagerduty_token, PAGERDUTY_FROM=settings.pagerduty_from):
        return None
    from affidavit.adapters.channels.pagerduty_note import PagerDutyNotifier

    return PagerDutyNotifier(sender=wiring.sender, token=settings.pagerduty_token, author=settings.pagerduty_from)


def _webhook(wiring: _Wiring) -> Notifier | None:
    url, secret = wiring.settings.notice_webhook_url, wiring.settings.notice_webhook_secret
    if not _both(NOTICE_WEBHOOK_URL=url, NOTICE_WEBHOOK_SECRET=secret):
        return None
    from affidavit.adapters.channels.webhook import WebhookNotifier

    return WebhookNotifier(sender=wiring.sender, url=url, secret=secret, clock=wiring.clock)


def _github(wiring: _Wiring) -> Notifier | None:
    repository, token = wiring.settings.github_notice_repository, wiring.settings.github_notice_token
    if not _both(GITHUB_NOTICE_REPOSITORY=repository, GITHUB_NOTICE_TOKEN=token):
        return None
    from affidavit.adapters.channels.github import GitHubNotifier, checked_repository

    return GitHubNotifier(sender=wiring.sender, token=token, repository=checked_repository(repository))


_CHANNELS: Mapping[ChannelName, Callable[[_Wiring], Notifier | None]] = {
    ChannelName.SNS: _sns,
    ChannelName.SLACK: _slack,
    ChannelName.SLACK_WEBHOOK: _slack_webhook,
    ChannelName.TEAMS: _teams,
    ChannelName.PAGERDUTY: _pagerduty,
    ChannelName.WEBHOOK: _webhook,
    ChannelName.GITHUB: _github,
}


def _both(**needed: str) -> bool:
    """Whether a channel is wanted. Raises InputRefused when half of its settings is missing."""
    missing = [name for name, value in needed.items() if not value]
    if 0 < len(missing) < len(needed):
        given = ", ".join(name for name in needed if name not in missing)
        raise InputRefused(f"{given} needs {', '.join(missing)}, too", hint="set both or neither")
    return not missing


def _hosts(names: str) -> frozenset[str]:
    return frozenset(name.lower() for name in names.split(",") if name)
