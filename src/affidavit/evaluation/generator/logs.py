"""Writes the log files that a collector saves of each stream, and records the truth about them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from affidavit.evaluation.generator.bundle_truth import Problem
from affidavit.evaluation.generator.daemon_events import DaemonEvent, Mark, noise
from affidavit.evaluation.generator.data_files import Data, items, load, mapping, texts
from affidavit.evaluation.generator.faults import planted
from affidavit.evaluation.generator.node_identity import Container, GeneratedNode, Pod
from affidavit.evaluation.generator.text.clock_text import stamp
from affidavit.evaluation.generator.text.formats import FORMATS, Format, cri, quoted
from affidavit.evaluation.generator.tree import Tree

Streams = Mapping[str, Sequence[DaemonEvent]]

_KEPT = timedelta(minutes=90)
# Files are rotated by size, so a log with few old lines is not rotated.
_ROTATED_FROM = 100


@dataclass(frozen=True, kw_only=True)
class _Log:
    path: str
    render: Format
    events: Sequence[DaemonEvent]
    header: tuple[str, ...] = ()
    is_csv: bool = False


def streams_of(node: GeneratedNode, layouts: Sequence[Data]) -> Streams:
    """The streams that the layouts' logs are made of, oldest line first."""
    recipes = mapping(layouts[0].get("noise"))
    found = {name: noise(node, name, str(recipes.get(name, name))) for name in _stream_names(layouts)}
    for fault in node.spec.faults:
        for event in planted(node, fault):
            found.setdefault(event.stream, []).append(event)
    return {name: sorted(events, key=lambda event: event.at) for name, events in found.items()}


def put_logs(tree: Tree, layout: Data, streams: Streams) -> None:
    for log in (*_logs(tree, layout, streams), *_pod_logs(tree, layout, streams)):
        lines = (*log.header, *(log.render(event, tree.node) for event in log.events))
        text = "".join(f"{line}{tree.newline}" for line in lines)
        tree.put(log.path, text.encode(errors="surrogateescape"))
        tree.logs.add(log.path)
        tree.problems.extend(_problems(log))
        first = len(log.header) + 1
        tree.silent.extend((log.path, number) for number, event in enumerate(log.events, first) if event.is_silent)


def _stream_names(layouts: Sequence[Data]) -> list[str]:
    logs = [mapping(log) for layout in layouts for log in items(layout.get("logs"))]
    names = {name for log in logs for name in texts(log["streams"])}
    if any("pod_logs" in layout for layout in layouts):
        pods = [mapping(pod) for pod in items(load("node.yaml")["pods"])]
        containers = [mapping(container) for pod in pods for container in items(pod["containers"])]
        names |= {name for container in containers for name in texts(container.get("stream"))}
    return sorted(names)


def _logs(tree: Tree, layout: Data, streams: Streams) -> Iterator[_Log]:
    writer = tree.node.writer("logs")
    for entry in items(layout.get("logs")):
        described = mapping(entry)
        events = _chosen(tree.node, described, streams)
        if described.get("if_any") and not events:
            continue
        header = [*texts(described.get("header")), *(() if events else texts(described.get("empty")))]
        log = _Log(
            path=tree.path(writer.write(str(described["file"]))),
            render=FORMATS[str(described["format"])],
            events=events,
            header=tuple(writer.write(line) for line in header),
            is_csv=str(described["format"]).startswith("csv"),
        )
        yield from _rotated(log, tree.node, str(described.get("rotated", "")))


def _chosen(node: GeneratedNode, described: Data, streams: Streams) -> list[DaemonEvent]:
    names = (*texts(described["streams"]), *texts(described.get("also")))
    named = [event for name in names for event in streams.get(name, ())]
    events = sorted(named, key=lambda event: event.at, reverse=bool(described.get("newest_first")))
    if "first_minutes" in described:
        end = node.spec.booted_at + timedelta(minutes=float(str(described["first_minutes"])))
        return [event for event in events if event.at <= end]
    return [event for event in events if event.mark or not described.get("errors_only")]


def _pod_logs(tree: Tree, layout: Data, streams: Streams) -> Iterator[_Log]:
    places = mapping(layout.get("pod_logs"))
    for pod in tree.node.pods if places else ():
        for container in pod.containers:
            if container.stream is not None:
                yield from _container_logs(tree, places, pod, container, streams[container.stream])


def _container_logs(
    tree: Tree, places: Data, pod: Pod, container: Container, events: Sequence[DaemonEvent]
) -> Iterator[_Log]:
    words = {**pod.words, "container": container.name, "cid": container.id}
    writer, ending = tree.node.writer("pods"), str(places.get("rotated", ""))
    whole = _Log(path="", render=cri(container.pipe), events=events)
    for place in texts(places.get("folders")):
        path = tree.path(writer.write(place, local=words))
        yield from _rotated(replace(whole, path=path), tree.node, ending)
    for place in texts(places.get("copies")):
        path = tree.path(writer.write(place, local=words))
        # The copy is of the link to the newest file: what was rotated away is only in the pod's folder.
        yield next(_rotated(replace(whole, path=path), tree.node, ending))


def _rotated(log: _Log, node: GeneratedNode, ending: str) -> Iterator[_Log]:
    """The log, and after it the compressed file of its older lines when the layout rotates it."""
    border = max(node.spec.booted_at, node.spec.collected_at - _KEPT)
    old = [event for event in log.events if event.at < border]
    if not ending or len(old) < _ROTATED_FROM:
        yield log
        return
    yield replace(log, events=[event for event in log.events if event.at >= border])
    yield replace(log, path=f"{log.path.removesuffix('.log')}{stamp(border, ending)}", events=old, header=())


def _problems(log: _Log) -> Iterator[Problem]:
    groups: dict[tuple[str, int, str], list[tuple[int, datetime, Mark]]] = {}
    for number, event in enumerate(log.events, start=len(log.header) + 1):
        if mark := event.mark:
            groups.setdefault((mark.fault, mark.group, mark.text), []).append((number, event.at, mark))
    for group in groups.values():
        yield _problem(log, group, tuple(_noise_of(log, group[0][2])))


def _noise_of(log: _Log, mark: Mark) -> Iterator[int]:
    for number, event in enumerate(log.events, start=len(log.header) + 1):
        if mark.takes_noise and event.mark is None and mark.text in event.text:
            yield number


def _problem(log: _Log, group: Sequence[tuple[int, datetime, Mark]], noise: tuple[int, ...]) -> Problem:
    mark = group[0][2]
    keys = [(number, at) for number, at, each in group if each.is_key]
    if not keys:
        raise ValueError(f"fault {mark.fault}: no line of its event {mark.group} holds {mark.text!r}")
    return Problem(
        fault=mark.fault,
        file=log.path,
        severity=mark.severity,
        lines=tuple(number for number, _ in keys),
        count=len(keys),
        first_time=min(at for _, at in keys),
        last_time=max(at for _, at in keys),
        text=quoted(mark.text) if log.is_csv else mark.text,
        context=(*(number for number, _, each in group if not each.is_key), *noise),
        any_line=mark.any_line,
    )
