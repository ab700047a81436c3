"""Checks the node's packet filter, from `iptables-save` and from `iptables -L` of the filter table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from affidavit.checks.computation_results import Found, Shown
from affidavit.checks.compute.processes import PS, processes_of, runs
from affidavit.checks.numbered_lines import Document, named

_SAVED = ("iptables-save.txt", "ip6tables-save.txt")
_LISTED = ("iptables.txt", "iptables-filter.txt", "iptables-filter", "ip6tables.txt", "ip6tables-filter.txt")


@dataclass(frozen=True)
class _Rule:
    line: int
    chain: str
    words: tuple[str, ...]
    """The rule's words without its comment."""
    comment: str

    listed_target: str = ""
    """The third column, when the rule is a row of a listing."""

    @property
    def target(self) -> str:
        if self.listed_target:
            return self.listed_target
        for option, value in zip(self.words, self.words[1:], strict=False):
            if option in ("-j", "-g", "--jump", "--goto"):
                return value
        return ""


@dataclass
class _Table:
    name: str
    line: int
    chains: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    """Name → line and policy."""
    rules: list[_Rule] = field(default_factory=list[_Rule])
    is_whole: bool = False


def unexpected_rejects(
    documents: Sequence[Document], *, expected_chains: tuple[str, ...], expected: tuple[str, ...]
) -> Iterator[Found]:
    """`expected` are pairs `CHAIN: text`: a rule of that chain with that text is normal."""
    pairs = [pair.partition(": ")[::2] for pair in expected]
    for document, tables in _filters(documents):
        for table in tables:
            for rule in table.rules:
                if rule.target not in ("REJECT", "DROP") or rule.chain.startswith(expected_chains):
                    continue
                whole = f"{' '.join(rule.words)} {rule.comment}"
                if not any(rule.chain == chain and text in whole for chain, text in pairs):
                    yield Shown(document.path, rule.line, f"{table.name} {rule.chain}: packets meet {rule.target}")


def forward_drops_pods(documents: Sequence[Document], *, accepting_chains: tuple[str, ...]) -> Iterator[Found]:
    """Policy DROP is harmless where a rule lets all pod traffic through; kube-proxy's own rules let only
    marked and established traffic through, and Docker's only its bridge's."""
    for document, tables in _filters(documents):
        for table in tables:
            line, policy = table.chains.get("FORWARD", (0, ""))
            if table.name != "filter" or policy != "DROP" or not table.is_whole:
                continue
            if not any(_lets_pods_through(rule, accepting_chains) for rule in table.rules):
                yield Shown(document.path, line, "the policy of FORWARD is DROP and no rule accepts new pod traffic")


def services_missing(documents: Sequence[Document]) -> Iterator[Found]:
    """kube-proxy runs, works with iptables, and yet no service has a rule."""
    saved, processes = named(documents, "networking/iptables-save.txt"), named(documents, PS)
    if saved is None or processes is None or not _works_with_iptables(documents):
        return
    tables = list(_tables(saved))
    has_proxy = any(runs(process, "kube-proxy") for process in processes_of(processes))
    if not has_proxy or _legacy_warning(saved) or any("KUBE-IPVS-FILTER" in table.chains for table in tables):
        return
    for table in tables:
        services = [rule for rule in table.rules if rule.chain == "KUBE-SERVICES" and rule.target != "KUBE-NODEPORTS"]
        if table.name == "nat" and table.is_whole and not services:
            line, _ = table.chains.get("KUBE-SERVICES", (table.line, ""))
            yield Shown(saved.path, line, "kube-proxy runs, and KUBE-SERVICES has no service in the nat table")


def both_backends(documents: Sequence[Document]) -> Iterator[Found]:
    for document in _saved(documents):
        count = sum(len(table.rules) for table in _tables(document))
        line = _legacy_warning(document)
        if line and count:
            yield Shown(document.path, line, f"tables of iptables-legacy exist beside {count} rules of nftables")


def _saved(documents: Sequence[Document]) -> Iterator[Document]:
    return (document for document in documents if document.path.rpartition("/")[2] in _SAVED)


def _filters(documents: Sequence[Document]) -> Iterator[tuple[Document, Iterator[_Table]]]:
    """Both forms in which a bundle shows the same rules."""
    for document in documents:
        name = document.path.rpartition("/")[2]
        if name in _SAVED:
            yield document, _tables(document)
        elif name in _LISTED:
            yield document, _listed(document)


def _listed(document: Document) -> Iterator[_Table]:
    """The filter table as `iptables --list --verbose --numeric` prints it; OUTPUT comes after FORWARD."""
    table, chain = _Table("filter", 1), ""
    for number, text in document.lines():
        words = text.replace("(", " ").replace(")", " ").split()
        if text.startswith("Chain "):
            chain = words[1] if len(words) > 1 else ""
            table.chains[chain] = (number, words[3] if words[2:3] == ["policy"] and len(words) > 3 else "-")
        elif chain and words and words[0][0].isdigit() and len(words) > 8:
            table.rules.append(_listed_rule(number, chain, text))
    table.is_whole = "OUTPUT" in table.chains
    yield table


def _listed_rule(number: int, chain: str, text: str) -> _Rule:
    """Columns: packets, bytes, target, protocol, options, in, out, source, destination; then matches."""
    before, _, rest = text.partition("/*")
    comment, _, after = rest.partition("*/")
    words = (*before.split(), *after.split())
    return _Rule(number, chain, words, comment.strip(), listed_target=words[2] if len(words) > 2 else "")


def _tables(document: Document) -> Iterator[_Table]:
    table: _Table | None = None
    for number, text in document.lines():
        if text.startswith("*"):
            if table:
                yield table
            table = _Table(text[1:].strip(), number)
        elif table and text.startswith(":"):
            words = text[1:].split()
            if len(words) > 1:
                table.chains[words[0]] = (number, words[1])
        elif table and text.startswith("-A "):
            table.rules.append(_rule(number, text))
        elif table and text.startswith("COMMIT"):
            table.is_whole = True
    if table:
        yield table


def _rule(number: int, text: str) -> _Rule:
    """Text in quotes is the comment, whatever options it seems to hold."""
    parts = text.split('"')
    words = " ".join(parts[::2]).split()
    return _Rule(number, words[1] if len(words) > 1 else "", tuple(words), " ".join(parts[1::2]))


def _lets_pods_through(rule: _Rule, accepting_chains: tuple[str, ...]) -> bool:
    if rule.chain not in ("FORWARD", "KUBE-FORWARD"):
        return False
    if rule.target.startswith(accepting_chains):
        return True
    limited = ("--mark", "--ctstate", "--state", "docker0", "-p", "mark", "ctstate", "state", "tcp", "udp")
    is_bridge = any(word.startswith(("br-", "virbr", "lxcbr")) for word in rule.words)
    return rule.target == "ACCEPT" and not is_bridge and not any(word in limited for word in rule.words)


def _works_with_iptables(documents: Sequence[Document]) -> bool:
    """kube-proxy says so when it starts, in one of several wordings; other modes leave other marks."""
    wordings = ("Using iptables proxy", "Using iptables Proxier", "Using iptables mode", "iptables data")
    logs = (document for document in documents if "kube-proxy" in document.path)
    return any(wording in text for log in logs for _, text in log.lines() for wording in wordings)


def _legacy_warning(document: Document) -> int:
    """The line on which iptables-nft warns of legacy tables; 0 when there is none."""
    for number, text in document.lines():
        if text.startswith("# Warning: ip") and "-legacy tables present" in text:
            return number
    return 0
