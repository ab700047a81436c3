"""Checks network interfaces: `ifconfig`, link files, and the counters since boot of `ethtool -S` and `conntrack -S`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from affidavit.checks.computation_results import Found, Shown
from affidavit.checks.number_parsing import whole
from affidavit.checks.numbered_lines import Document, named


@dataclass
class _Interface:
    line: int
    name: str
    flags: tuple[str, ...]
    counters: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])


def flag_missing(documents: Sequence[Document], *, flag: str, unless_named: tuple[str, ...]) -> Iterator[Found]:
    """Only interfaces that carry traffic: loopback, or both broadcast and multicast. One that is down lacks only UP."""
    for document in documents:
        for each in _interfaces(document):
            carries = "LOOPBACK" in each.flags or {"BROADCAST", "MULTICAST"} <= set(each.flags)
            is_missing = flag not in each.flags and (flag == "UP" or "UP" in each.flags)
            if carries and is_missing and not each.name.startswith(unless_named):
                yield Shown(document.path, each.line, f"{each.name} is not {flag}")


def no_loopback(documents: Sequence[Document]) -> Iterator[Found]:
    """Judges only a complete listing. A stopped command leaves the end out; `ifconfig ens5` lists one interface."""
    for document in documents:
        interfaces = list(_interfaces(document))
        if len(interfaces) > 1 and interfaces[-1].counters and not any("LOOPBACK" in each.flags for each in interfaces):
            names = ", ".join(each.name for each in interfaces[:5])
            yield Shown(document.path, interfaces[0].line, f"{len(interfaces)} interfaces and no loopback: {names}")


def errors(documents: Sequence[Document], *, at_least: int, per_million: float) -> Iterator[Found]:
    for document in documents:
        for each in _interfaces(document):
            for way in ("RX", "TX"):
                line, count = each.counters.get(f"{way} errors", (0, 0))
                packets = each.counters.get(f"{way} packets", (0, 0))[1]
                if count >= at_least and 1_000_000 * count >= per_million * packets:
                    yield Shown(document.path, line, f"{each.name} counts {count} {way} errors since boot")


def adapter_counter(documents: Sequence[Document], *, counter: str, above: int) -> Iterator[Found]:
    for document in documents:
        interface = "an interface"
        for number, text in document.lines():
            name, _, value = text.strip().partition(":")
            if text.startswith("Interface"):
                interface = text.removeprefix("Interface").strip(": ") or interface
            elif name == counter and (count := whole(value.strip())) is not None and count > above:
                yield Shown(document.path, number, f"{interface} counts {count} packets over the allowance since boot")


def conntrack_counter(documents: Sequence[Document], *, counter: str, at_least: int) -> Iterator[Found]:
    """There is one line per processor; their sum counts."""
    for document in documents:
        counts = {number: count for number, text in document.lines() if (count := _per_cpu(text, counter))}
        total = sum(counts.values())
        if total >= at_least:
            for number in counts:
                yield Shown(document.path, number, f"{counter} counts {total} since boot")


def mac_policy(documents: Sequence[Document], *, on: str) -> Iterator[Found]:
    """udev gives pod interfaces another MAC address than the CNI did, unless a file says none."""
    uname = named(documents, "kernel/uname.txt")
    if uname is None or (b"Ubuntu" in uname.data) is not (on == "ubuntu"):
        return
    policies = [(document, *_policy(document)) for document in documents if document.path.endswith(".link")]
    if any(number and policy in ("", "none") for _, number, policy in policies):
        return
    for document, number, policy in policies:
        if number:
            yield Shown(document.path, number, f"MACAddressPolicy is {policy}")


def _policy(document: Document) -> tuple[int, str]:
    found = (0, "")
    for number, text in document.lines():
        name, sign, value = text.partition("=")
        if sign and name.strip() == "MACAddressPolicy":
            found = (number, value.strip())
    return found


def _per_cpu(text: str, counter: str) -> int:
    words = text.split() if text.startswith("cpu=") else []
    values = [whole(word.partition("=")[2]) for word in words if word.startswith(f"{counter}=")]
    return values[0] or 0 if values else 0


def _interfaces(document: Document) -> Iterator[_Interface]:
    """`eth0: flags=4163<UP,…>  mtu 9001` and what is indented below it."""
    current: _Interface | None = None
    for number, text in document.lines():
        name, separator, rest = text.partition(": flags=")
        if separator and name and not name[0].isspace():
            if current:
                yield current
            flags = rest.partition("<")[2].partition(">")[0]
            current = _Interface(number, name, tuple(flags.split(",")))
        elif current and text[:1].isspace():
            words = text.split()
            if len(words) > 2 and words[0] in ("RX", "TX") and (count := whole(words[2])) is not None:
                current.counters[f"{words[0]} {words[1]}"] = (number, count)
    if current:
        yield current
