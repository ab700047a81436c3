"""Plans the files of one big bundle, and the size of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from affidavit.evaluation.generator.data_files import Data, items, load, mapping
from affidavit.evaluation.generator.node_identity import GeneratedNode
from affidavit.evaluation.generator.text.template_slots import Writer

_EXTRA_SHARE = 0.25
_EXTRA_SMALLEST, _EXTRA_BIGGEST = 2_048, 16_384


@dataclass(frozen=True, kw_only=True)
class BulkMember:
    """`seed` decides the lines; files with the same seed and form are the same."""

    file: str
    size: int
    paced_by: int
    paced_form: str
    """The size and form that set the pace of the lines; twin files share them."""
    form: str
    seed: str
    noise: Mapping[str, int]
    planted: Mapping[str, str]
    """Stream to the name its lines are written under."""


def plan(node: GeneratedNode, size: int, extra_members: int, planted: Mapping[str, Sequence[str]]) -> list[BulkMember]:
    data = load("bulk.yaml")
    extra = list(_extra(node, size, extra_members, mapping(data["extra"])))
    rest = max(0, size - sum(member.size for member in extra))
    described = [mapping(entry) for entry in items(data["files"])]
    members = [*_files(node, rest, described), *extra]
    _check(planted, members)
    return members


def _files(node: GeneratedNode, size: int, described: Sequence[Data]) -> Iterator[BulkMember]:
    writer = _writer(node)
    whole = sum(_share(entry) for entry in described)
    by_name = {writer.write(str(entry["file"])): entry for entry in described}
    paces: dict[str, tuple[int, str]] = {}
    for file, entry in by_name.items():
        model = by_name[writer.write(str(entry["same_as"]))] if "same_as" in entry else entry
        seed, own = str(model.get("twin", model["file"])), int(size * _share(entry) / whole)
        yield _member(
            writer, model, file=file, size=own, seed=seed, pace=paces.setdefault(seed, (own, str(model["form"])))
        )


def _extra(node: GeneratedNode, size: int, count: int, described: Data) -> Iterator[BulkMember]:
    if count == 0:
        return
    each = min(_EXTRA_BIGGEST, max(_EXTRA_SMALLEST, int(size * _EXTRA_SHARE / count)))
    writer = _writer(node)
    pod = writer.write("var_log/kube-system_@{aws-node.pod}_@{aws-node.uid}/aws-node")
    for number in range(count):
        yield _member(
            writer,
            described,
            file=f"{pod}/{number}.log",
            size=each,
            seed=f"extra/{number}",
            pace=(each, str(described["form"])),
        )


def _member(writer: Writer, entry: Data, *, file: str, size: int, seed: str, pace: tuple[int, str]) -> BulkMember:
    return BulkMember(
        file=file,
        size=size,
        paced_by=pace[0],
        paced_form=pace[1],
        form=str(entry["form"]),
        seed=seed,
        noise={name: int(str(weight)) for name, weight in mapping(entry["noise"]).items()},
        planted={name: writer.write(str(program)) for name, program in mapping(entry["planted"]).items()},
    )


def _writer(node: GeneratedNode) -> Writer:
    words = dict(node.words)
    for pod in node.pods:
        container = pod.containers[0]
        folder = f"var_log/{pod.namespace}_{pod.name}_{pod.uid}"
        words[f"{pod.app}.log"] = f"{folder}/{container.name}/0.log"
        words[f"{pod.app}.copy"] = f"var_log/{pod.name}_{pod.namespace}_{container.name}-{container.id}.log"
    return Writer(rng=node.writer("bulk").rng, words=words)


def _share(entry: Data) -> float:
    return float(str(entry["share"]))


def _check(planted: Mapping[str, Sequence[str]], members: Sequence[BulkMember]) -> None:
    known = {stream for member in members for stream in member.planted}
    if unknown := sorted(set(planted) - known):
        raise ValueError(f"no file carries {', '.join(unknown)}; streams are {', '.join(sorted(known))}")
