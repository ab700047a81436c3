"""The tools as the chat model sees them: the questions about the subject, and one way to finish."""

import json
from functools import cache
from typing import Any

from langchain_core.utils.json_schema import dereference_refs
from pydantic import BaseModel

from affidavit.agent.subjects.investigable import Investigable
from affidavit.evidence.diagnosis import Diagnosis

SUBMIT = "submit_diagnosis"

_SUBMIT_DESCRIPTION = (
    "Hand in the diagnosis. A program re-reads every pointer in `evidence`; what does not match comes back. "
    "Example of a pointer: "
)
# Ours to say: whether a program agrees, and who wrote it.
_NOT_ASKED = ("produced_by", "confidence", "grade", "open_obligations")


def create_tools(of: Investigable) -> list[dict[str, Any]]:
    """One specification per tool, in the form every LangChain chat model binds."""
    questions = [_tool(name, of.descriptions[name], _schema(schema)) for name, schema in of.argument_schemas.items()]
    example = json.dumps(dict(of.example_pointer))
    return [*questions, _tool(SUBMIT, f"{_SUBMIT_DESCRIPTION}{example}", _submission_schema())]


@cache
def _schema(arguments: type[BaseModel]) -> dict[str, Any]:
    return arguments.model_json_schema()


@cache
def _submission_schema() -> dict[str, Any]:
    # Some chat models read no $ref.
    schema = dereference_refs(Diagnosis.model_json_schema())
    schema.pop("$defs", None)
    properties = {name: shape for name, shape in schema["properties"].items() if name not in _NOT_ASKED}
    level = {"type": "string", "enum": ["high", "medium", "low"], "description": "how sure you are"}
    required = [name for name in schema["required"] if name not in _NOT_ASKED]
    return {"type": "object", "properties": {**properties, "confidence": level}, "required": [*required, "confidence"]}


def _tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
