"""Checks which configuration of the network plugin containerd takes: the first of the folder, by name."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from affidavit.checks.computation_results import Found, Shown
from affidavit.checks.numbered_lines import Document

_ENDINGS = (".conf", ".conflist", ".json")


def other_first(documents: Sequence[Document], *, own: str, unless_says: tuple[str, ...]) -> Iterator[Found]:
    """Another file before `own` that does not call our plugin; `unless_says` are words of those that do."""
    configs = {PurePosixPath(each.path).name: each for each in documents if each.path.endswith(_ENDINGS)}
    first = min(configs, default=own)
    if own not in configs or first == own:
        return
    lines = list(configs[first].lines())
    if any(word in text for _, text in lines for word in unless_says):
        return
    number = next((number for number, text in lines if '"type"' in text), None)
    if number is not None:
        yield Shown(configs[first].path, number, f"{first} comes before {own}, so containerd takes it")
