"""Finds contradictions within ipamd's checkpoint, and between it and what ipamd holds in memory.

Only contradictions count. An entry that one of the two files lacks says nothing: they are written seconds apart.
"""

from collections.abc import Iterator, Mapping, Sequence

from affidavit.checks.computation_results import Found, NotComputable, Shown
from affidavit.checks.numbered_lines import Document, named
from affidavit.checks.untrusted_json import first_lines, items_of, json_of, members_of

_CHECKPOINT, _ENIS = "ipamd/ipam.json", "ipamd/enis.json"
_CIDRS = ("AvailableIPv4Cidrs", "IPv6Cidrs")


def contradicts(documents: Sequence[Document]) -> Iterator[Found]:
    checkpoint, enis = named(documents, _CHECKPOINT), named(documents, _ENIS)
    if checkpoint is None:
        return
    content = json_of(checkpoint)
    if "allocations" not in members_of(content):
        yield NotComputable(checkpoint.path, "is not the JSON of ipamd, so its addresses were not compared")
    problems = list(_problems(content, dict(_in_memory(json_of(enis))) if enis is not None else {}))
    lines = first_lines(checkpoint, {address for address, _ in problems})
    for address, problem in problems:
        yield Shown(checkpoint.path, lines[address], f"{address} {problem}")


def _problems(content: object, holders: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Address and what is wrong with it. `holders`: address → container in memory."""
    given: dict[str, str] = {}
    held = {container: address for address, container in sorted(holders.items(), reverse=True)}
    for address, container in _allocations(content):
        holder = holders.get(address, container)
        if given.setdefault(address, container) != container:
            yield address, "is given to two containers"
        elif holder != container:
            yield address, f"belongs to container {container[:12]} here and to {holder[:12]} in enis.json"
        elif address not in holders and container in held:
            yield address, f"is {held[container]} in enis.json, for the same container"


def _allocations(content: object) -> Iterator[tuple[str, str]]:
    for entry in map(members_of, items_of(members_of(content).get("allocations"))):
        container = entry.get("containerID")
        for address in (entry.get("ipv4"), entry.get("ipv6")):
            if isinstance(address, str) and address and isinstance(container, str) and container:
                yield address, container


def _in_memory(content: object) -> Iterator[tuple[str, str]]:
    """Address → container, for addresses in use."""
    for adapter in map(members_of, members_of(members_of(content).get("ENIs")).values()):
        for cidr in (cidr for key in _CIDRS for cidr in members_of(adapter.get(key)).values()):
            for address, use in members_of(members_of(cidr).get("IPAddresses")).items():
                container = members_of(members_of(use).get("IPAMKey")).get("containerID")
                if isinstance(container, str) and container:
                    yield address, container
