"""ipamd's checkpoint against itself and against ipamd's memory, at the size of an attack as well."""

import json
from collections.abc import Iterable, Mapping

from affidavit.checks.computation_results import Shown
from affidavit.checks.compute.ipamd_checkpoint import contradicts
from affidavit.checks.compute.pod_routes import routes_missing
from affidavit.checks.numbered_lines import Document

MANY = 60_000


def checkpoint(allocations: Iterable[tuple[str, str]]) -> Document:
    rows = (json.dumps({"containerID": container, "ipv4": address}) for address, container in allocations)
    return Document("ipamd/ipam.json", ('{"allocations": [\n' + ",\n".join(rows) + "\n]}").encode())


def memory(holders: Mapping[str, str]) -> Document:
    addresses = {address: {"IPAMKey": {"containerID": container}} for address, container in holders.items()}
    content = {"ENIs": {"eni-1": {"AvailableIPv4Cidrs": {"10.0.0.0/8": {"IPAddresses": addresses}}}}}
    return Document("ipamd/enis.json", json.dumps(content, indent=0).encode())


def shown(*documents: Document) -> list[tuple[int, str]]:
    return [(found.line, found.detail) for found in contradicts(documents) if isinstance(found, Shown)]


def address(number: int, first: int = 10) -> str:
    return f"{first}.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def test_the_smallest_of_several_addresses_of_a_container_is_named() -> None:
    held = memory({"10.0.0.9": "c1", "10.0.0.3": "c1", "10.0.0.5": "c2"})
    assert shown(checkpoint([("10.0.0.7", "c1"), ("10.0.0.5", "c2")]), held) == [
        (2, "10.0.0.7 is 10.0.0.3 in enis.json, for the same container")
    ]


def test_a_container_with_two_addresses_in_both_files_contradicts_nothing() -> None:
    held = {"10.0.0.3": "c1", "10.0.0.9": "c1"}
    assert shown(checkpoint(held.items()), memory(held)) == []


def test_half_a_character_in_an_address_or_a_container_is_shown_as_a_mark() -> None:
    twice = checkpoint([("\ud800", "c1"), ("\ud800", "c2")])
    assert shown(twice) == [(2, "\ufffd is given to two containers")]
    assert shown(checkpoint([("10.0.0.3", "\ud800c1")]), memory({"10.0.0.3": "c2"})) == [
        (2, "10.0.0.3 belongs to container \ufffdc1 here and to c2 in enis.json")
    ]


def test_as_many_contradictions_as_a_file_can_hold_are_each_shown_on_their_line() -> None:
    """Megabytes, of which each address stands against all others: minutes for anything but one pass."""
    here = checkpoint((address(number), f"c{number}") for number in range(MANY))
    there = memory({address(number, first=11): f"c{number}" for number in range(MANY)})
    assert max(len(here.data), len(there.data)) < 4 << 20
    found = shown(here, there)
    assert [line for line, _ in found] == list(range(2, MANY + 2))
    assert found[-1][1] == f"{address(MANY - 1)} is {address(MANY - 1, first=11)} in enis.json, for the same container"


def test_as_many_pods_without_a_route_as_a_file_can_hold_are_each_shown_on_their_line() -> None:
    held = memory({address(number): f"c{number}" for number in range(MANY)})
    routes = Document("networking/iproute.txt", b"10.1.2.3 dev eni0 scope link\n")
    assert len(list(routes_missing([held, routes]))) == MANY


def test_a_pod_address_that_is_written_with_escapes_is_not_passed_over() -> None:
    held = memory({"10.0.0.3": "c1"})
    escaped = Document(held.path, held.data.replace(b"10.0.0.3", b"10.0.0\\u002e3"))
    routes = Document("networking/iproute.txt", b"10.1.2.3 dev eni0 scope link\n")
    [found] = routes_missing([escaped, routes])
    assert isinstance(found, Shown) and "10.0.0.3" in found.detail
