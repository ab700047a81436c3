"""How each collector prints a line. The text of an event is the daemon's; time, host and program are added here."""

from collections.abc import Callable

from affidavit.evaluation.generator.daemon_events import DaemonEvent
from affidavit.evaluation.generator.node_identity import GeneratedNode
from affidavit.evaluation.generator.text.clock_text import stamp, windows_stamp

Format = Callable[[DaemonEvent, GeneratedNode], str]


def _program(event: DaemonEvent, node: GeneratedNode, *, pid: bool = True) -> str:
    name = node.words.get(f"{event.stream}_program", event.stream)
    number = node.words.get(f"{event.stream}_pid", "")
    return f"{name}[{number}]" if pid and number and name != "kernel" else name


def _journal(pattern: str) -> Format:
    def render(event: DaemonEvent, node: GeneratedNode) -> str:
        return f"{stamp(event.at, pattern)} {node.words['hostname']} {_program(event, node)}: {event.text}"

    return render


def _uptime(event: DaemonEvent, node: GeneratedNode) -> str:
    return f"[{(event.at - node.spec.booted_at).total_seconds():12.6f}]"


def _dmesg(event: DaemonEvent, node: GeneratedNode) -> str:
    return f"{_uptime(event, node)} {event.text}"


def _dmesg_human(event: DaemonEvent, _node: GeneratedNode) -> str:
    return f"[{stamp(event.at, '%a %b %e %H:%M:%S %Y')}] {event.text}"


def _rsyslog(event: DaemonEvent, node: GeneratedNode) -> str:
    # rsyslog reads the journal on AL2, where a daemon's standard output carries no pid.
    program = _program(event, node, pid=False)
    return f"{stamp(event.at, '%b %e %H:%M:%S')} {node.words['short_hostname']} {program}: {event.text}"


def _syslog(event: DaemonEvent, node: GeneratedNode) -> str:
    uptime = f" {_uptime(event, node)}" if event.stream == "kernel" else ""
    head = f"{stamp(event.at, '%b %e %H:%M:%S')} {node.words['short_hostname']} {_program(event, node)}:"
    return f"{head}{uptime} {event.text}"


def _snap(event: DaemonEvent, node: GeneratedNode) -> str:
    return f"{stamp(event.at, '%Y-%m-%dT%H:%M:%SZ')} {_program(event, node)}: {event.text}"


def _raw(event: DaemonEvent, _node: GeneratedNode) -> str:
    return event.text


def _csv(*columns: str) -> str:
    return ",".join(f'"{quoted(column)}"' for column in columns)


def _level(event: DaemonEvent) -> str:
    return {"E": "Error", "F": "Error", "W": "Warning"}.get(event.text[:1], "Information")


def _csv_event(event: DaemonEvent, node: GeneratedNode) -> str:
    program = _program(event, node, pid=False)
    at, level = windows_stamp(event.at), _level(event)
    return _csv(event.text, "1", "0", "4", "0", program, "EKS", node.words["hostname"], at, level)


def _csv_short(event: DaemonEvent, node: GeneratedNode) -> str:
    level, _, message = event.text.partition(" ")
    return _csv(windows_stamp(event.at), level, node.words["hostname"], message)


def cri(pipe: str) -> Format:
    """As containerd writes a container's output."""

    def render(event: DaemonEvent, _node: GeneratedNode) -> str:
        # The reader's clock ticks after the program's own: the last three digits tell the two apart.
        return f"{stamp(event.at, '%Y-%m-%dT%H:%M:%S.%f')}{event.at.microsecond % 997:03d}Z {pipe} F {event.text}"

    return render


def quoted(text: str) -> str:
    """Text as it stands inside a CSV column."""
    return text.replace('"', '""')


FORMATS: dict[str, Format] = {
    "journal": _journal("%b %d %H:%M:%S"),
    "journal-precise": _journal("%b %d %H:%M:%S.%f"),
    "journal-iso-precise": _journal("%Y-%m-%dT%H:%M:%S.%f+0000"),
    "dmesg": _dmesg,
    "dmesg-human": _dmesg_human,
    "rsyslog": _rsyslog,
    "syslog": _syslog,
    "snap": _snap,
    "raw": _raw,
    "cri": cri("stderr"),
    "csv-event": _csv_event,
    "csv-short": _csv_short,
}
