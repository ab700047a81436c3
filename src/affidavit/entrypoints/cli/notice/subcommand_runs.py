"""What the commands of `affidavit notice` do."""

from affidavit.adapters.channels.channel_registry import channels
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless
from affidavit.errors import AffidavitError, InputRefused
from affidavit.incidents.notices.channel import Channel, ChannelName
from affidavit.incidents.notices.channel_test_notice import a_test_notice
from affidavit.ports.clock import SystemClock
from affidavit.ports.notice_record import Notice
from affidavit.settings import Settings


def run_channels() -> Exit:
    for channel in _channels(None):
        states = channel.passes.states
        ends = ", ".join(sorted(states)) if states is not None else "every end"
        print(f"{channel.name}: {channel.passes.floor} and above, {ends}, at most {channel.per_minute} a minute")
    return Exit.DONE


def run_test(name: str | None) -> Exit:
    notice = a_test_notice(SystemClock().now())
    return max(_tested(channel, notice) for channel in _channels(name))


def _tested(channel: Channel, notice: Notice) -> Exit:
    try:
        channel.notifier.notify(notice, earlier="")
    except AffidavitError as error:
        print(f"{channel.name}: {harmless(str(error))}\n  {harmless(error.hint)}")
        return Exit.FOUND
    print(f"{channel.name}: took the test notice")
    return Exit.DONE


def _channels(name: str | None) -> list[Channel]:
    made = channels(Settings.from_environment(), SystemClock())
    if not made:
        raise InputRefused("no channel is set up", hint="docs/notices.md says which settings make which channel")
    wanted = [channel for channel in made if name in (None, channel.name)]
    if not wanted:
        known = ", ".join(channel.name for channel in made)
        off = name in list(ChannelName)
        why = "is not set up" if off else "does not exist"
        raise InputRefused(f"the channel {name} {why}", hint=f"set up are {known}")
    return wanted
