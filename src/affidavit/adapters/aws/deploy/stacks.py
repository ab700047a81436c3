"""CloudFormation stacks by change sets: what would change is known before anything does."""

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import AffidavitError, InputRefused, UpstreamFailed

# Roles have names of ours, so that policies and keys can speak of them.
_CAPABILITIES = ["CAPABILITY_NAMED_IAM"]
_POLL = {"Delay": 2, "MaxAttempts": 900}
_UNCHANGED = ("didn't contain changes", "No updates are to be performed")


@dataclass(frozen=True, kw_only=True, slots=True)
class StackChange:
    action: str
    """Add, Modify, Remove."""
    logical_id: str
    kind: str
    is_replaced: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeSet:
    """`is_new` when there is no such stack yet; nothing changes when `changes` is empty."""

    stack: str
    name: str
    is_new: bool
    changes: tuple[StackChange, ...]


class Stacks:
    def __init__(self, clients: AwsClients) -> None:
        self._clients = clients

    def propose(self, stack: str, template: Mapping[str, Any], parameters: Mapping[str, str]) -> ChangeSet:
        """What is not among `parameters` stays as it was chosen before; a default is only for the first time.

        Whoever gets a change set executes or discards it; one that is refused was discarded.
        """
        is_new = self.status(stack) in (None, "REVIEW_IN_PROGRESS")
        kept = self.parameters(stack) & set(template.get("Parameters", {})) - set(parameters)
        name = f"affidavit-{datetime.now(UTC):%Y%m%d%H%M%S%f}"
        with _about(f"change set of {stack}"):
            self._cloudformation.create_change_set(
                StackName=stack,
                ChangeSetName=name,
                ChangeSetType="CREATE" if is_new else "UPDATE",
                TemplateBody=json.dumps(template, separators=(",", ":")),
                Parameters=[
                    *({"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()),
                    *({"ParameterKey": key, "UsePreviousValue": True} for key in sorted(kept)),
                ],
                Capabilities=_CAPABILITIES,
                Tags=[{"Key": "project", "Value": "affidavit"}],
            )
        proposed = ChangeSet(stack=stack, name=name, is_new=is_new, changes=())
        try:
            return replace(proposed, changes=self._changes(stack, name))
        except BaseException as error:
            self._take_back(proposed, error)
            raise

    def execute(self, change_set: ChangeSet) -> None:
        """Returns when the stack is complete. Raises UpstreamFailed with the first reason when it is not."""
        done = "stack_create_complete" if change_set.is_new else "stack_update_complete"
        with _about(f"stack {change_set.stack}"):
            self._cloudformation.execute_change_set(StackName=change_set.stack, ChangeSetName=change_set.name)
            self._wait(change_set.stack, done)

    def discard(self, change_set: ChangeSet) -> None:
        """Also the empty stack that a change set for a new one leaves behind."""
        with _about(f"change set of {change_set.stack}"):
            self._cloudformation.delete_change_set(StackName=change_set.stack, ChangeSetName=change_set.name)
            if change_set.is_new:
                self._cloudformation.delete_stack(StackName=change_set.stack)

    def _take_back(self, proposed: ChangeSet, why: BaseException) -> None:
        try:
            self.discard(proposed)
        except AffidavitError as error:
            left = f"change set {proposed.name} of {proposed.stack} is left behind ({error})"
            raise UpstreamFailed(f"{why}; and {left}", hint="delete it, and an empty stack with it") from why

    def delete(self, stack: str) -> None:
        with _about(f"stack {stack}"):
            self._cloudformation.delete_stack(StackName=stack)
            self._wait(stack, "stack_delete_complete")

    def status(self, stack: str) -> str | None:
        found = self._find(stack)
        return str(found["StackStatus"]) if found is not None else None

    def parameters(self, stack: str) -> set[str]:
        """Names of those that were chosen, or left at their default."""
        found = self._find(stack) or {}
        return {each["ParameterKey"] for each in found.get("Parameters", ())}

    def outputs(self, stack: str) -> dict[str, str]:
        found = self._find(stack) or {}
        return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}

    @property
    def _cloudformation(self) -> Any:
        return self._clients.client("cloudformation")

    def _find(self, stack: str) -> dict[str, Any] | None:
        with translated(f"stack {stack}"):
            try:
                return self._cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
            except ClientError as error:
                # It has no code of its own for this.
                if "does not exist" in str(error):
                    return None
                raise

    def _changes(self, stack: str, name: str) -> tuple[StackChange, ...]:
        for _ in range(_POLL["MaxAttempts"]):
            with _about(f"change set of {stack}"):
                found = self._cloudformation.describe_change_set(StackName=stack, ChangeSetName=name)
            if found["Status"] == "CREATE_COMPLETE":
                return tuple(_change(each["ResourceChange"]) for each in self._all_changes(found, stack, name))
            if found["Status"] == "FAILED":
                return _nothing(found.get("StatusReason", ""), stack)
            time.sleep(0.5)
        raise UpstreamFailed(f"the change set of {stack} is not ready after minutes", hint="look at it in the console")

    def _all_changes(self, first: dict[str, Any], stack: str, name: str) -> list[dict[str, Any]]:
        changes, token = list(first.get("Changes", ())), first.get("NextToken")
        while token:
            with _about(f"change set of {stack}"):
                page = self._cloudformation.describe_change_set(StackName=stack, ChangeSetName=name, NextToken=token)
            changes += page.get("Changes", ())
            token = page.get("NextToken")
        return changes

    def _wait(self, stack: str, state: str) -> None:
        try:
            self._cloudformation.get_waiter(state).wait(StackName=stack, WaiterConfig=_POLL)
        except BotoCoreError as error:
            raise UpstreamFailed(
                f"stack {stack} did not get there: {'; '.join(self._reasons(stack)) or error}",
                hint="correct what it names, then apply again",
            ) from error

    def _reasons(self, stack: str) -> list[str]:
        with translated(f"events of {stack}"):
            events = self._cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
        failed = [event for event in reversed(events) if event.get("ResourceStatus", "").endswith("_FAILED")]
        return [f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', '')}" for event in failed[:3]]


def _nothing(reason: str, stack: str) -> tuple[StackChange, ...]:
    if any(said in reason for said in _UNCHANGED):
        return ()
    raise InputRefused(f"{stack} cannot be changed so: {reason}", hint="correct the parameters or the template")


def _change(change: Mapping[str, Any]) -> StackChange:
    return StackChange(
        action=change["Action"],
        logical_id=change["LogicalResourceId"],
        kind=change["ResourceType"],
        is_replaced=change.get("Replacement") == "True",
    )


@contextmanager
def _about(thing: str) -> Generator[None]:
    """What CloudFormation says about a template helps its author and gives nothing away."""
    with translated(thing):
        try:
            yield
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == "ValidationError":
                said = error.response["Error"].get("Message", "")
                raise InputRefused(f"{thing}: {said}", hint="correct the template or its parameters") from error
            raise
