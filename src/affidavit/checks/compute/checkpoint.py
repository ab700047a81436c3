"""Does the checkpoint that ipamd starts from agree with itself and with what ipamd holds in memory?

Only contradictions count. An entry that one of the two files lacks says nothing: they are written seconds apart.
"""

from collections.abc import Iterator, Mapping, Sequence

from affidavit.checks.compute.structured import items_of, json_of, members_of
from affidavit.checks.found import Found, NotComputable, Shown
from affidavit.checks.text import Document, named

_CHECKPOINT, _ENIS = "ipamd/ipam.json", "ipamd/enis.json"
_CIDRS = ("AvailableIPv4Cidrs", "IPv6Cidrs")


def contradicts(documents: Sequence[Document]) -> Iterator[Found]:
    checkpoint, enis = named(documents, _CHECKPOINT), named(documents, _ENIS)
    if checkpoint is None:
        return
    content = json_of(checkpoint)
    if "allocations" not in members_of(content):
        yield NotComputable(checkpoint.path, "is not the JSON of ipamd, so its addresses were not compared")
    holders = dict(_in_memory(json_of(enis))) if enis is not None else {}
    given: dict[str, str] = {}
    for address, container in _allocations(content):
        problem = _problem(address, container, given.get(address, ""), holders)
        given.setdefault(address, container)
        if problem:
            yield Shown(checkpoint.path, _line_of(checkpoint, address), f"{address} {problem}")


def _problem(address: str, container: str, earlier: str, holders: Mapping[str, str]) -> str:
    if earlier and earlier != container:
        return "is given to two containers"
    if address in holders and holders[address] != container:
        return f"belongs to container {container[:12]} here and to {holders[address][:12]} in enis.json"
    others = sorted(other for other, holder in holders.items() if holder == container)
    return f"is {others[0]} in enis.json, for the same container" if others and address not in others else ""


def _allocations(content: object) -> Iterator[tuple[str, str]]:
    for entry in map(members_of, items_of(members_of(content).get("allocations"))):
        container = entry.get("containerID")
        for address in (entry.get("ipv4"), entry.get("ipv6")):
            if isinstance(address, str) and address and isinstance(container, str) and container:
                yield address, container


def _in_memory(content: object) -> Iterator[tuple[str, str]]:
    """Address → container of those that are in use."""
    for adapter in map(members_of, members_of(members_of(content).get("ENIs")).values()):
        for cidr in (cidr for key in _CIDRS for cidr in members_of(adapter.get(key)).values()):
            for address, use in members_of(members_of(cidr).get("IPAddresses")).items():
                container = members_of(members_of(use).get("IPAMKey")).get("containerID")
                if isinstance(container, str) and container:
                    yield address, container


def _line_of(document: Document, address: str) -> int:
    at = document.data.find(f'"{address}"'.encode())
    return document.data.count(b"\n", 0, max(at, 0)) + 1
