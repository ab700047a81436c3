"""Arguments of questions about a Lambda function as the server takes them: the question's own and `max_bytes`."""

from typing import cast

from pydantic import create_model

from affidavit.wire.byte_budget import MAX_BYTES, MaxBytes
from affidavit.wire.records import ToolRequest
from affidavit.workloads.wire import WorkloadArgs


def with_budget(arguments: type[WorkloadArgs]) -> type[WorkloadArgs]:
    """The agent asks without one: what it does not show to the chat model it still records."""
    made = create_model(arguments.__name__, __base__=(ToolRequest, arguments), max_bytes=(MaxBytes, MAX_BYTES))
    return cast("type[WorkloadArgs]", made)  # of both bases; the type of create_model names either
