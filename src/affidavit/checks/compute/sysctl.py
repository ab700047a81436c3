"""Checks numbers from `sysctl --all`: how full the kernel's tables are, its settings and its taint."""

from collections.abc import Iterator, Sequence

from affidavit.checks.computation_results import Found, NotComputable, Shown
from affidavit.checks.number_parsing import whole
from affidavit.checks.numbered_lines import Document, named

SYSCTLS = "sysctls/sysctl_all.txt"
Settings = dict[str, tuple[int, str]]

# Documentation/admin-guide/tainted-kernels.rst
_TAINTS = {
    0: "a proprietary module was loaded",
    1: "a module was loaded by force",
    3: "a module was unloaded by force",
    4: "the processor reported a machine check",
    5: "a bad memory page was found",
    7: "the kernel died of an oops or bug",
    9: "the kernel issued a warning",
    12: "a module from outside the kernel tree was loaded",
    13: "an unsigned module was loaded",
    14: "a soft lockup occurred",
}


def settings_of(document: Document) -> Settings:
    """Name → line and value. The first line of a name counts, because some print several."""
    settings: Settings = {}
    for number, text in document.lines():
        name, sign, value = text.partition("=")
        if sign:
            settings.setdefault(name.strip(), (number, value.strip()))
    return settings


def conntrack_use(documents: Sequence[Document], *, from_percent: float, below_percent: float) -> Iterator[Found]:
    if (document := named(documents, SYSCTLS)) is None:
        yield from unreadable(documents)
        return
    settings = settings_of(document)
    line, count = _number(settings, "net.netfilter.nf_conntrack_count")
    limit = _number(settings, "net.netfilter.nf_conntrack_max")[1] or _number(settings, "net.nf_conntrack_max")[1]
    if count is None or not limit or not from_percent <= 100 * count / limit < below_percent:
        return
    share = 100 * count // limit
    yield Shown(document.path, line, f"nf_conntrack_count is {share} % of nf_conntrack_max ({count} of {limit})")


def file_handles(documents: Sequence[Document], *, from_percent: float) -> Iterator[Found]:
    if (document := named(documents, SYSCTLS)) is None:
        yield from unreadable(documents)
        return
    line, text = settings_of(document).get("fs.file-nr", (0, ""))
    numbers = [whole(word) for word in text.split()]
    if len(numbers) != 3:
        return
    used, _, limit = numbers
    if used is not None and limit and 100 * used / limit >= from_percent:
        yield Shown(document.path, line, f"{used} file handles are {100 * used // limit} % of the most ({limit})")


def setting_equals(documents: Sequence[Document], *, setting: str, value: str) -> Iterator[Found]:
    if document := named(documents, SYSCTLS):
        line, text = settings_of(document).get(setting, (0, ""))
        if text == value:
            yield Shown(document.path, line, f"{setting} is {text}")


def setting_at_most(documents: Sequence[Document], *, setting: str, most: int) -> Iterator[Found]:
    if document := named(documents, SYSCTLS):
        line, value = _number(settings_of(document), setting)
        if value is not None and value <= most:
            yield Shown(document.path, line, f"{setting} is {value}")


def setting_at_least(documents: Sequence[Document], *, setting: str, least: int) -> Iterator[Found]:
    if document := named(documents, SYSCTLS):
        line, value = _number(settings_of(document), setting)
        if value is not None and value >= least:
            yield Shown(document.path, line, f"{setting} is {value}")


def few_ports(documents: Sequence[Document], *, fewer_than: int) -> Iterator[Found]:
    if document := named(documents, SYSCTLS):
        line, text = settings_of(document).get("net.ipv4.ip_local_port_range", (0, ""))
        ends = [number for word in text.split() if (number := whole(word)) is not None]
        if len(ends) == 2 and (count := ends[1] - ends[0] + 1) < fewer_than:
            yield Shown(document.path, line, f"{count} local ports ({ends[0]} to {ends[1]})")


def taint(documents: Sequence[Document], *, bits: tuple[int, ...]) -> Iterator[Found]:
    if document := named(documents, SYSCTLS):
        line, value = _number(settings_of(document), "kernel.tainted")
        if reasons := [_TAINTS.get(bit, f"bit {bit} is set") for bit in bits if value is not None and value >> bit & 1]:
            yield Shown(document.path, line, f"kernel.tainted is {value}: {', '.join(reasons)}")


def strict_reverse_path(documents: Sequence[Document]) -> Iterator[Found]:
    """Replies to node ports leave by another interface than they came by, which strict filtering drops.

    Only where the rule that the VPC CNI adds for node ports is there. The kernel takes the larger of both settings.
    """
    sysctls = named(documents, SYSCTLS)
    rules, routes = named(documents, "networking/iprule.txt"), named(documents, "networking/iproute.txt")
    if sysctls is None or rules is None or routes is None or not _marks_node_ports(rules):
        return
    settings = settings_of(sysctls)
    line, own = _number(settings, f"net.ipv4.conf.{_primary_interface(routes)}.rp_filter")
    shared = _number(settings, "net.ipv4.conf.all.rp_filter")[1]
    if own is not None and shared is not None and max(own, shared) == 1:
        yield Shown(sysctls.path, line, f"rp_filter is {own} here and {shared} for all: strict, where 2 is needed")


def unreadable(documents: Sequence[Document]) -> Iterator[Found]:
    for document in documents:
        if document.path.endswith(SYSCTLS) and document.is_blank:
            yield NotComputable(document.path, "is empty, so how full the kernel's tables are is unknown")


def _number(settings: Settings, name: str) -> tuple[int, int | None]:
    line, text = settings.get(name, (0, ""))
    return line, whole(text)


def _marks_node_ports(rules: Document) -> bool:
    return any("fwmark 0x80/0x80 lookup main" in text for _, text in rules.lines())


def _primary_interface(routes: Document) -> str:
    for _, text in routes.lines():
        words = text.split()
        if words[:2] == ["default", "via"] and "table" not in words and "dev" in words[:-1]:
            return words[words.index("dev") + 1]
    return ""
