"""What a node's log agent sent to CloudWatch Logs: the groups of Container Insights, or others that settings name.

An event of Fluent Bit is JSON with the text in `message` or `log`. A text that names its time and program stays as it
is; any other gets the event's own time in front, as a journal would write it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import NotFound
from affidavit.ports.cluster.off_host_logs import HostQuestion, HostText

MESSAGES, DMESG = "var_log/messages", "kernel/dmesg.current"
MOST_BYTES = 8 << 20
_MOST_STREAMS = 50
_SINCE_BOOT = re.compile(r"(?:<\d+>)?\[ *\d+\.\d{6}\]")
_DATED = re.compile(r"\d{4}-\d\d-\d\dT|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ")
_NOT_A_WORD = re.compile(r"[^A-Za-z0-9_.-]+")


class CloudWatchHostLogs:
    """`groups` are names of log groups; {cluster} stands for the cluster's."""

    def __init__(self, clients: AwsClients, groups: Sequence[str]) -> None:
        self._clients, self._groups = clients, groups

    def read(self, asked: HostQuestion) -> HostText | None:
        files: dict[str, list[str]] = {}
        size, left_out = 0, ""
        for file, line in self._lines(asked):
            size += len(line.encode()) + 1
            if size > MOST_BYTES:
                left_out = f"only the first {MOST_BYTES >> 20} MiB of what CloudWatch Logs has were taken"
                break
            files.setdefault(file, []).append(line)
        if not files:
            return None
        texts = {file: "".join(f"{line}\n" for line in lines).encode() for file, lines in files.items()}
        return HostText(files=texts, taken_at=asked.until, left_out=left_out)

    def _lines(self, asked: HostQuestion) -> Iterator[tuple[str, str]]:
        for group in self._groups:
            name = group.replace("{cluster}", asked.cluster)
            with translated(f"log group {name}"):
                for stream in self._streams(name, asked):
                    yield from self._events(name, stream, asked)

    def _streams(self, group: str, asked: HostQuestion) -> list[str]:
        """Those of this node: their names begin with the node's, or with the instance's id."""
        found: list[str] = []
        for prefix in filter(None, (asked.node_name, asked.instance_id)):
            try:
                with translated(f"log group {group}"):
                    answer = self._logs(asked).describe_log_streams(
                        logGroupName=group, logStreamNamePrefix=prefix, limit=_MOST_STREAMS
                    )
            except NotFound:
                return []
            names = [str(one["logStreamName"]) for one in answer["logStreams"]]
            found += [name for name in names if name[len(prefix) :][:1] in ("", ".", "-", "/")]
        return list(dict.fromkeys(found))

    def _events(self, group: str, stream: str, asked: HostQuestion) -> Iterator[tuple[str, str]]:
        pages = (
            self._logs(asked)
            .get_paginator("filter_log_events")
            .paginate(
                logGroupName=group,
                logStreamNames=[stream],
                startTime=_millis(asked.since),
                endTime=_millis(asked.until),
            )
        )
        for page in pages:
            for event in page["events"]:
                yield from _told(event, stream, asked)

    def _logs(self, asked: HostQuestion) -> Any:
        return self._clients.client("logs", region=asked.region)


def _millis(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _told(event: Mapping[str, Any], stream: str, asked: HostQuestion) -> Iterator[tuple[str, str]]:
    fields = _fields(str(event["message"]))
    text = next((str(fields[key]) for key in ("message", "log", "MESSAGE") if fields.get(key)), "")
    at = datetime.fromtimestamp(event["timestamp"] / 1000, UTC).isoformat(timespec="milliseconds")
    for line in filter(None, text.splitlines()):
        if _SINCE_BOOT.match(line):
            yield DMESG, line
        elif _DATED.match(line):
            yield MESSAGES, line
        else:
            host = asked.node_name or asked.instance_id
            yield MESSAGES, f"{at} {host} {_program(fields, stream)}: {line}"


def _fields(message: str) -> Mapping[str, Any]:
    try:
        given: object = json.loads(message)
    except ValueError:
        return {"message": message}
    return cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {"message": message}


def _program(fields: Mapping[str, Any], stream: str) -> str:
    """Who wrote it, as the event says; else as the stream's name ends: `….dataplane.systemd.kubelet.service`."""
    named = next((str(fields[key]) for key in ("ident", "systemd_unit", "SYSLOG_IDENTIFIER") if fields.get(key)), "")
    ends = [part for part in re.split(r"[./-]", stream) if part and part != "service"]
    return _NOT_A_WORD.sub("", named.removesuffix(".service") or (ends[-1] if ends else "")) or "host"
