"""Runs the demo workload once, as whoever calls a Lambda function does."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from affidavit.errors import UpstreamFailed
from affidavit.sandbox.account.function_account import FUNCTION
from affidavit.sandbox.aws.resources import Account


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkloadRun:
    has_succeeded: bool
    said: str

    def __str__(self) -> str:
        return f"{FUNCTION} {'succeeded' if self.has_succeeded else 'failed'}: {self.said}"


def run_workload(environment: Mapping[str, str]) -> WorkloadRun:
    """Waits for the end of the run. A refusal to run it (throttled) is a result, too."""
    account = Account.of_environment(environment)
    try:
        answer = account.client("lambda").invoke(FunctionName=FUNCTION, Payload=b"{}")
    except ClientError as error:
        return WorkloadRun(has_succeeded=False, said=str(error.response.get("Error", {}).get("Code")))
    except BotoCoreError as error:
        raise UpstreamFailed(f"the sandbox's Lambda could not be asked: {error}", hint="is it running?") from error
    return _read(answer)


def _read(answer: Any) -> WorkloadRun:
    payload = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        return WorkloadRun(has_succeeded=False, said=str(payload.get("errorMessage")))
    return WorkloadRun(has_succeeded=True, said=f"{payload['rows']} rows")
