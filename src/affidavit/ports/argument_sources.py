"""Where the arguments of a repair may come from. There is nothing else: no log line, no chat model."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from affidavit.evidence.incident_subject import Subject
from affidavit.ports.json import Item

GOOD_VARIABLES = "environment_is_known_good"


class SourceKind(StrEnum):
    """In the order of trust."""

    BASELINE = "baseline"
    """A known-good state that was captured here. `reference` is its id."""
    TRAIL_EVENT = "trail_event"
    """The CloudTrail event that broke it, or the last one that wrote the good value. `reference` is the event id."""
    POLICY_VERSION = "policy_version"
    """A former version of a managed policy: `arn:aws:iam::…:policy/name#v3`."""
    FUNCTION_VERSION = "function_version"
    """A published version of a function: its qualified ARN."""
    ALIAS_TARGET = "alias_target"
    """What an alias pointed at before: the alias's ARN and the version, `arn…:function:f:live#7`."""

    NODE = "node"
    """The node that is repaired, as AWS tells of it, and our own document: `i-…`. It carries no value to restore."""

    @property
    def trust(self) -> int:
        """0 is the most trusted."""
        return list(SourceKind).index(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArgumentSource:
    """Names a source document; `sha256` is over its canonical JSON (RFC 8785)."""

    kind: SourceKind
    reference: str
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceDocument:
    """What a source says, as JSON in AWS's field names.

    - `baseline`: the captured state as `affidavit baseline show --json` prints it.
    - `trail_event`: CloudTrail's own record (`eventName`, `requestParameters`, `eventTime`, …).
    - `policy_version`: `{"policy_arn", "version_id", "document"}`.
    - `function_version`: GetFunctionConfiguration of the version without values of variables; GOOD_VARIABLES tells
      whether the newest known-good state had exactly these.
    - `alias_target`: `{"alias_arn", "function_version", "routing"}`.
    - `node`: `{"instance_id", "instance_arn", "cluster", "group", "document", "has_evidence"}`.
    """

    source: ArgumentSource
    at: datetime
    """When the state was so."""
    document: Item


class ArgumentSources(Protocol):
    def about(self, subject: Subject, *, before: datetime) -> Sequence[SourceDocument]:
        """Everything that tells how the subject and what belongs to it was before that moment: most trusted first, and
        of one kind the newest first. Raises UpstreamFailed when nobody could look."""
        ...

    def reread(self, source: ArgumentSource) -> SourceDocument:
        """Raises NotFound when it is gone. The digest of what is returned may differ: the caller compares."""
        ...
