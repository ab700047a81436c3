"""Reads which notices each channel is told of: NOTICE_FLOOR and NOTICE_STATES."""

from affidavit.errors import InputRefused
from affidavit.evidence.diagnosis import IncidentSeverity
from affidavit.incidents.notices.channel import ChannelName, NoticeFilter
from affidavit.incidents.store.state import Status
from affidavit.settings import Settings


def filter_of(channel: ChannelName, settings: Settings) -> NoticeFilter:
    """Raises InputRefused naming the word that cannot be read."""
    floor = _pairs("NOTICE_FLOOR", settings.notice_floor).get(channel)
    states = _pairs("NOTICE_STATES", settings.notice_states).get(channel)
    return NoticeFilter(
        floor=IncidentSeverity.LOW if floor is None else _floor(floor),
        states=None if states is None else frozenset(_state(word) for word in states.split("|")),
    )


def _pairs(setting: str, text: str) -> dict[ChannelName, str]:
    pairs: dict[ChannelName, str] = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals or name not in list(ChannelName):
            known = ", ".join(ChannelName)
            raise InputRefused(f"{setting}: {pair} is not CHANNEL=VALUE", hint=f"channels are {known}")
        pairs[ChannelName(name)] = value
    return pairs


def _floor(word: str) -> IncidentSeverity:
    try:
        return IncidentSeverity(word)
    except ValueError as error:
        known = ", ".join(IncidentSeverity)
        raise InputRefused(f"NOTICE_FLOOR: there is no severity {word}", hint=f"severities are {known}") from error


def _state(word: str) -> Status:
    try:
        return Status(word)
    except ValueError as error:
        known = ", ".join(state for state in Status if not state.is_open)
        raise InputRefused(f"NOTICE_STATES: there is no state {word}", hint=f"states are {known}") from error
