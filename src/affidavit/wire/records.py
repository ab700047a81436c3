"""The base of every record on the wire, and what all tool answers share: success and truncation."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from affidavit.evidence.finding import ABSENT_WHEN_NONE


class WireRecord(BaseModel):
    """Names on the wire mix camelCase and snake_case, so a field may be given by its name or by its alias."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        from_attributes=True,
    )


class ToolRequest(WireRecord):
    """Arguments of a tool. An argument that is null is left at its default."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_the_default(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        arguments = cast("Mapping[str, Any]", given)  # of a JSON object
        return {name: value for name, value in arguments.items() if value is not None}


class NextCall(WireRecord):
    """A tool call, ready to be made."""

    tool: str = Field(description="Name of the tool.")
    arguments: dict[str, Any] = Field(description="Its arguments.")


class TruncationInfo(WireRecord):
    original_count: int | None = Field(description="How many there are; null when they were not counted.")
    returned_count: int = Field(description="How many of them are in this answer.")
    next_step: str = Field(description="What to do to get the others.")
    next_call: Annotated[NextCall | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="The call that returns the next ones."
    )


class ToolAnswer(WireRecord):
    success: Literal[True] = Field(default=True, description="true on every answer; an error has another shape.")
    truncated: bool = Field(
        default=False, description="true when something was left out of this answer; see truncation_info."
    )
    truncation_info: Annotated[TruncationInfo | None, ABSENT_WHEN_NONE] = Field(
        default=None,
        # Named here although it is its own name: a subclass in camelCase must not rename it.
        validation_alias="truncation_info",
        serialization_alias="truncation_info",
        description="Only there when truncated is true.",
    )


def cut(total: int | None, returned: int, next_step: str, next_call: NextCall | None = None) -> TruncationInfo | None:
    """None when nothing was left out; `total` is None when nobody counted."""
    if total is not None and returned >= total:
        return None
    return TruncationInfo(original_count=total, returned_count=returned, next_step=next_step, next_call=next_call)


def again(tool: str, request: ToolRequest, **changed: object) -> NextCall:
    """The call that was made, with some arguments changed, by their names on the wire."""
    arguments = request.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return NextCall(tool=tool, arguments={**arguments, **changed})
