"""The tools as the chat model sees them: four questions and one way to finish."""

from functools import cache
from typing import Any

from langchain_core.utils.json_schema import dereference_refs

from affidavit.evidence.diagnosis import Diagnosis
from affidavit.workloads.descriptions import ANSWERS, ASK_WHEN, EXAMPLE
from affidavit.workloads.records import TOOL_ARG_SCHEMAS

SUBMIT = "submit_diagnosis"

_SUBMIT_DESCRIPTION = (
    "Hand in the diagnosis. A program re-reads every pointer in `evidence`; what does not match comes back. "
    'Example of a pointer: {"tool": "get_lambda_config", "field": "/ReservedConcurrentExecutions", "value": 0, '
    '"interpretation": "The function can never run."}'
)
# Ours to say: whether a program agrees, and who wrote it.
_NOT_ASKED = ("produced_by", "confidence")


def create_tools() -> list[dict[str, Any]]:
    """One specification per tool, in the form every LangChain chat model binds."""
    questions = [
        _tool(name, f"{ANSWERS[name]} {ASK_WHEN[name]} {EXAMPLE}", schema.model_json_schema())
        for name, schema in TOOL_ARG_SCHEMAS.items()
    ]
    return [*questions, _tool(SUBMIT, _SUBMIT_DESCRIPTION, _submission_schema())]


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
