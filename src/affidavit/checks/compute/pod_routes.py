"""Checks that the VPC CNI's routes and rules exist for every pod address it has given out. IPv4 only.

Missing or empty files say nothing: ipamd may be down, or the collector was told to leave it alone.
"""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address

from affidavit.checks.computation_results import Found, NotComputable, Shown
from affidavit.checks.numbered_lines import Document, named
from affidavit.checks.untrusted_json import first_lines, json_of, members_of

_ENIS, _RULES, _ROUTES = "ipamd/enis.json", "networking/iprule.txt", "networking/iproute.txt"
_NAMED_TABLES = ("main", "local", "default")


def rules_missing(documents: Sequence[Document]) -> Iterator[Found]:
    enis, rules = named(documents, _ENIS), named(documents, _RULES)
    if enis is None or rules is None:
        return
    known = {address for _, text in rules.lines() for address in _addresses_of_rule(text)}
    yield from _without(enis, known, "no ip rule leads to")


def routes_missing(documents: Sequence[Document]) -> Iterator[Found]:
    enis, routes = named(documents, _ENIS), named(documents, _ROUTES)
    if enis is None or routes is None:
        return
    rows = (text.split() for _, text in routes.lines())
    known = {words[0].removesuffix("/32") for words in rows if words[1:2] == ["dev"] and "link" in words}
    yield from _without(enis, known, "no route leads to")


def default_routes_missing(documents: Sequence[Document]) -> Iterator[Found]:
    """Pods on a secondary interface use its own route table, which is useless without a default route."""
    rules, routes = named(documents, _RULES), named(documents, _ROUTES)
    if rules is None or routes is None:
        return
    rows = [text.split() for _, text in routes.lines()]
    if not any("table" in words for words in rows):
        return  # a list of the main table alone tells nothing of the others
    known = {words[words.index("table") + 1] for words in rows if words[:1] == ["default"] and "table" in words[:-1]}
    seen: set[str] = set()
    for number, text in rules.lines():
        words = text.split()
        table = words[-1] if words[:2] == ["1536:", "from"] and "lookup" in words[:-1] else ""
        if table and table not in known and table not in _NAMED_TABLES and table not in seen:
            seen.add(table)
            yield Shown(rules.path, number, f"table {table} has no default route")


def no_way_out(documents: Sequence[Document]) -> Iterator[Found]:
    """Finds that the node's main table has routes, but no default route."""
    routes = named(documents, _ROUTES)
    if routes is None:
        return
    rows = [(number, words) for number, text in routes.lines() if "dev" in (words := text.split())[1:4]]
    own = [(number, words) for number, words in rows if "table" not in words]
    linked = [number for number, words in own if "link" in words]
    if linked and not any(words[0] == "default" for _, words in own):
        yield Shown(routes.path, linked[0], "the main table has routes to neighbours and no default route")


def _addresses_of_rule(text: str) -> Iterator[str]:
    words = text.split()
    if words[:1] == ["512:"] and "to" in words[:-1]:
        yield words[words.index("to") + 1].removesuffix("/32")
    if words[:2] == ["1536:", "from"] and len(words) > 2:
        yield words[2].removesuffix("/32")


def _without(enis: Document, known: set[str], problem: str) -> Iterator[Found]:
    content = json_of(enis)
    if "ENIs" not in members_of(content):
        yield NotComputable(enis.path, "is not the JSON of ipamd, so rules and routes of pods were not compared")
    missing = set(_assigned(content)) - known
    for line, addresses in _by_line(enis, missing).items():
        more = f" and {len(addresses) - 3} more" if len(addresses) > 3 else ""
        yield Shown(enis.path, line, f"{problem} {', '.join(addresses[:3])}{more}, assigned to pods")


def _by_line(enis: Document, addresses: set[str]) -> dict[int, list[str]]:
    """The line that names each address first."""
    lines: dict[int, list[str]] = {}
    for address, line in first_lines(enis, addresses).items():
        lines.setdefault(line, []).append(address)
    return lines


def _assigned(content: object) -> Iterator[str]:
    for adapter in members_of(members_of(content).get("ENIs")).values():
        yield from _assigned_of(members_of(adapter))


def _assigned_of(adapter: dict[str, object]) -> Iterator[str]:
    for cidr in members_of(adapter.get("AvailableIPv4Cidrs")).values():
        for address, use in members_of(members_of(cidr).get("IPAddresses")).items():
            if members_of(members_of(use).get("IPAMKey")).get("containerID") and _is_ipv4(address):
                yield address


def _is_ipv4(address: str) -> bool:
    try:
        IPv4Address(address)
    except ValueError:
        return False
    return True
