"""`kms.key.enable`: enables a key that was disabled."""

from collections.abc import Mapping, Sequence

from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.source_document_values import at_path
from affidavit.remediation.actions.trail_event_fields import is_call, requested
from affidavit.remediation.plan.plan_record import UndoClass

ENABLED, DISABLED = "Enabled", "Disabled"


class KeyArguments(Arguments):
    """`is_enabled` is False in an undo alone."""

    is_enabled: bool


class EnableKey:
    name = "kms.key.enable"
    risk = RiskLevel.MEDIUM
    undo_class = UndoClass.EXACT
    repairs = frozenset({FaultType.PERMISSION_LOSS, FaultType.CREDENTIALS, FaultType.STARTUP, FaultType.CONFIGURATION})
    arguments: type[Arguments] = KeyArguments
    subject_kind = SubjectKind.FUNCTION
    has_token = False

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        """Only the key that the function names: an event about another key is about somebody else's."""
        key = reader.read("lambda", "get_function_configuration", FunctionName=subject.id).get("KMSKeyArn")
        if not key or not _was_enabled(str(key), said):
            return []
        aim = Aim(target=str(key), arguments={"is_enabled": True})
        return [] if self.read(aim, reader).state == self.expected(aim, {}) else [aim]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        answer = reader.read("kms", "describe_key", KeyId=aim.target)
        return Reading(state={"key_state": at_path(answer, "KeyMetadata", "KeyState")})

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        state = live.state["key_state"]
        if state in (ENABLED, DISABLED):
            return []
        return [f"the key is {state}: only a disabled key is enabled, a deletion is for a person to stop"]

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"key_state": ENABLED if aim.arguments["is_enabled"] else DISABLED}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {"is_enabled": state["key_state"] == ENABLED}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        verb = "Enable" if aim.arguments["is_enabled"] else "Disable"
        return (
            ApiCall(
                service="kms",
                operation=f"{verb.lower()}_key",
                parameters={"KeyId": aim.target},
                action=f"kms:{verb}Key",
                resource=aim.target,
            ),
        )

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return [aim.target]


def _was_enabled(key: str, said: SourceDocument) -> bool:
    match said.source.kind:
        case SourceKind.BASELINE:
            states = at_path(said.document, "configuration", "key_state")
            return isinstance(states, Mapping) and states.get(key) == ENABLED
        case SourceKind.TRAIL_EVENT:
            # KMS disables only a key that was enabled.
            named = str(requested(said.document, "keyId"))
            return is_call(said.document, "DisableKey") and named in (key, key.rsplit("/", 1)[-1])
        case _:
            return False
