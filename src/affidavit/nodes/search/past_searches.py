"""Searches that were made, kept for a day, so that their S- ids can be cited like those of an index."""

import hashlib
from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from affidavit.errors import InputRefused, NotFound
from affidavit.evidence.finding import Evidence, Finding, Occurrence
from affidavit.evidence.severity import Severity
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.object_keys import SEARCHES, prefix_of
from affidavit.ports.table import Key, Put

KEPT = timedelta(hours=24)
# DynamoDB takes items of 400 KB.
_INLINE = 200_000
_DESCRIPTION = "Lines that match the query"
PURPOSE = "search"


class KeptResult(BaseModel):
    """A result with everything it takes to re-read each of its listed lines."""

    model_config = ConfigDict(frozen=True)

    finding_id: str
    severity: Severity
    component: str
    count: int
    evidence: Evidence
    others: tuple[Evidence, ...]


class KeptSearch(BaseModel):
    model_config = ConfigDict(frozen=True)

    search_id: str
    instance_id: str
    index_id: str
    query: str
    results: Annotated[tuple[KeptResult, ...], Field()]

    def findings(self) -> dict[str, Finding]:
        return {result.finding_id: _finding(self.query, result) for result in self.results}

    def lines_of(self, finding_id: str) -> list[Evidence]:
        return [
            evidence
            for result in self.results
            if result.finding_id == finding_id
            for evidence in (result.evidence, *result.others)
        ]


def search_id_of(index_id: str, *question: object) -> str:
    """The same question of the same index has the same id."""
    return f"s-{hashlib.sha256(repr((index_id, *question)).encode()).hexdigest()[:24]}"


def keep_search(library: Library, search: KeptSearch) -> None:
    body = search.model_dump_json()
    expires = int((library.clock.now() + KEPT).timestamp())
    place: dict[str, str] = {"body": body}
    if len(body) > _INLINE:
        key = f"{prefix_of(search.instance_id)}/{SEARCHES}/{hashlib.sha256(body.encode()).hexdigest()}.json"
        library.objects.put_new(key, body.encode(), purpose=PURPOSE)
        place = {"object": key}
    key = _key(search.search_id)
    item = {"pk": key.pk, "sk": key.sk, "instance_id": search.instance_id, "ttl": expires, **place}
    listed = {"pk": _partition(search.instance_id), "sk": search.search_id, "query": search.query, "ttl": expires}
    library.state.write_all([Put(item=item), Put(item=listed)])


def find_search(library: Library, instance_id: str, search_id: str | None) -> KeptSearch:
    """Without an id, the only search there is. Raises when there is none, or more than one to choose from."""
    known = [str(item["sk"]) for item in library.state.query(_partition(instance_id))]
    if search_id is None and len(known) > 1:
        raise InputRefused(
            f"{len(known)} searches of {instance_id} have S- ids, and search_id does not say which is meant",
            hint=f"give search_id: one of {', '.join(known[:10])}",
        )
    wanted = search_id or (known[0] if known else None)
    item = library.state.get(_key(wanted)) if wanted is not None else None
    if item is None or item.get("instance_id") != instance_id:
        raise NotFound(
            f"{instance_id} has no search {wanted!a} any more" if wanted else f"{instance_id} has no search to cite",
            hint="results can be cited for 24 hours: search again, then use the ids of that answer",
        )
    body = item.get("body")
    text = str(body).encode() if body is not None else library.objects.get(str(item["object"]))
    return KeptSearch.model_validate_json(text)


def _finding(query: str, result: KeptResult) -> Finding:
    times = [evidence.timestamp for evidence in (result.evidence, *result.others) if evidence.timestamp is not None]
    is_cut = len(result.others) + 1 < result.count
    return Finding(
        finding_id=result.finding_id,
        rule="search",
        severity=result.severity,
        pattern=query,
        description=_DESCRIPTION,
        component=result.component,
        signal="search",
        count=result.count,
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        evidence=result.evidence,
        additional_occurrences=tuple(_occurrence(evidence) for evidence in result.others),
        occurrences_listed=len(result.others) + 1 if is_cut else None,
        occurrences_total=result.count if is_cut else None,
    )


def _occurrence(evidence: Evidence) -> Occurrence:
    line = evidence.line_range.start if evidence.line_range is not None else 0
    return Occurrence(line=line, byte_offset=evidence.byte_offset, timestamp=evidence.timestamp)


def _key(search_id: str) -> Key:
    return Key(pk=f"SEARCH#{search_id}", sk="META")


def _partition(instance_id: str) -> str:
    return f"SEARCHES#{instance_id}"
