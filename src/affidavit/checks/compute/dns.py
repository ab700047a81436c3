"""Checks the node's resolv.conf, which pods with the DNS policy `Default` inherit."""

from collections.abc import Iterator, Sequence

from affidavit.checks.computation_results import Found, NotComputable, Shown
from affidavit.checks.numbered_lines import Document


def no_nameserver(documents: Sequence[Document]) -> Iterator[Found]:
    for document in documents:
        entries = list(_entries(document))
        if document.is_blank:
            yield NotComputable(document.path, "is empty, so the node's name servers are unknown")
        elif not any(words[0] == "nameserver" and len(words) > 1 for _, words in entries):
            yield Shown(document.path, _where_it_says_so(document), "no line names a name server")


def _where_it_says_so(document: Document) -> int:
    """The comment in which systemd-resolved tells that it knows no server, or the first line."""
    return next((number for number, text in document.lines() if "No DNS servers known" in text), 1)


def own_nameserver(documents: Sequence[Document]) -> Iterator[Found]:
    """Finds a nameserver that is neither on the node nor the VPC's own: those end in .2, or are link-local."""
    for document in documents:
        for number, words in _entries(document):
            if words[0] == "nameserver" and len(words) > 1 and not _is_given(words[1]):
                yield Shown(document.path, number, f"name server {words[1]} is not the resolver of the VPC")


def local_nameserver(documents: Sequence[Document]) -> Iterator[Found]:
    """Finds a nameserver on the node's own loopback interface, where a pod finds only itself."""
    for document in documents:
        for number, words in _entries(document):
            if words[0] == "nameserver" and len(words) > 1 and words[1].startswith(("127.", "::1")):
                yield Shown(document.path, number, f"name server {words[1]} is the node itself")


def _is_given(server: str) -> bool:
    return server.startswith(("127.", "169.254.", "fd00:ec2:", "::1", "fe80:")) or server.endswith(".2")


def too_many_nameservers(documents: Sequence[Document], *, most: int) -> Iterator[Found]:
    for document in documents:
        servers = [number for number, words in _entries(document) if words[0] == "nameserver"]
        for number in servers[most:]:
            yield Shown(document.path, number, f"{len(servers)} name servers, of which {most} are used")


def long_search_list(documents: Sequence[Document], *, most_domains: int, most_characters: int) -> Iterator[Found]:
    """The last `search` counts."""
    for document in documents:
        lists = [(number, words[1:]) for number, words in _entries(document) if words[0] == "search"]
        for number, domains in lists[-1:]:
            length = len(" ".join(domains))
            if len(domains) > most_domains or length > most_characters:
                yield Shown(document.path, number, f"{len(domains)} search domains of {length} characters")


def _entries(document: Document) -> Iterator[tuple[int, list[str]]]:
    for number, text in document.lines():
        words = text.split()
        if words and words[0][0] not in "#;":
            yield number, words
