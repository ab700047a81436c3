"""The questions behind one door: arguments checked, scope kept, failures told from answers."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import ValidationError

from affidavit.errors import AffidavitError, InputRefused, NotFound, UpstreamFailed
from affidavit.known_good.capture import Captures
from affidavit.ports.clock import Clock
from affidavit.ports.json import JsonValue
from affidavit.ports.workload_inspector import WorkloadInspector
from affidavit.workloads.baseline_diff import baseline_diff
from affidavit.workloads.iam import iam_state
from affidavit.workloads.lambda_config_answer import lambda_config
from affidavit.workloads.logs import recent_logs
from affidavit.workloads.network import network_state
from affidavit.workloads.recent_changes import recent_changes
from affidavit.workloads.wire import (
    TOOL_ARG_SCHEMAS,
    Answer,
    BaselineDiffResponse,
    ChangesResponse,
    GetBaselineDiffArgs,
    GetIamStateArgs,
    GetLambdaConfigArgs,
    GetNetworkStateArgs,
    GetRecentChangesArgs,
    GetRecentLogsArgs,
    IAMStateResponse,
    LambdaConfigResponse,
    LogsResponse,
    NetworkStateResponse,
    WorkloadArgs,
    failure,
    function_name,
)


@dataclass(frozen=True, kw_only=True)
class Workloads:
    """`functions` are the ones of the incident; a log line cannot steer a question to any other. None: no incident.

    Without `captures` nobody keeps known-good states.
    """

    inspector: WorkloadInspector
    clock: Clock
    functions: frozenset[str] | None
    captures: Captures | None = None

    def get_recent_logs(self, arguments: GetRecentLogsArgs) -> LogsResponse:
        with self._scope(arguments) as name:
            return recent_logs(self.inspector, name, now=self.clock.now())

    def get_iam_state(self, arguments: GetIamStateArgs) -> IAMStateResponse:
        with self._scope(arguments) as name:
            return iam_state(self.inspector, name, now=self.clock.now())

    def get_lambda_config(self, arguments: GetLambdaConfigArgs) -> LambdaConfigResponse:
        with self._scope(arguments) as name:
            return lambda_config(self.inspector, name, now=self.clock.now())

    def get_network_state(self, arguments: GetNetworkStateArgs) -> NetworkStateResponse:
        with self._scope(arguments) as name:
            return network_state(self.inspector, name)

    def get_recent_changes(self, arguments: GetRecentChangesArgs) -> ChangesResponse:
        with self._scope(arguments) as name:
            return recent_changes(self.inspector, name, now=self.clock.now(), hours=arguments.hours)

    def get_baseline_diff(self, arguments: GetBaselineDiffArgs) -> BaselineDiffResponse:
        with self._scope(arguments) as name:
            return baseline_diff(self.captures, self.inspector, name)

    def ask(self, tool: str, arguments: Mapping[str, JsonValue]) -> Answer:
        """Raises NotFound for an unknown tool and InputRefused for arguments that cannot be used."""
        if tool not in TOOL_ARG_SCHEMAS:
            raise NotFound("unknown tool", hint=f"there are {', '.join(TOOL_ARG_SCHEMAS)}")
        match _arguments(tool, arguments):
            case GetRecentLogsArgs() as parsed:
                return self.get_recent_logs(parsed)
            case GetIamStateArgs() as parsed:
                return self.get_iam_state(parsed)
            case GetLambdaConfigArgs() as parsed:
                return self.get_lambda_config(parsed)
            case GetRecentChangesArgs() as parsed:
                return self.get_recent_changes(parsed)
            case GetBaselineDiffArgs() as parsed:
                return self.get_baseline_diff(parsed)
            case parsed:
                return self.get_network_state(GetNetworkStateArgs(lambda_name=parsed.lambda_name))

    def answer(self, tool: str, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The answer as JSON, in its ok or its error variant. Never raises one of our errors."""
        try:
            return self.ask(tool, arguments).model_dump(mode="json", exclude={"error", "hint"})
        except AffidavitError as error:
            return {**failure(error)}

    @contextmanager
    def _scope(self, arguments: WorkloadArgs) -> Generator[str]:
        name = function_name(arguments.lambda_name)
        if self.functions is not None and name not in self.functions:
            raise InputRefused(
                f"{name} is not part of this incident", hint=f"ask about {', '.join(sorted(self.functions))}"
            )
        try:
            yield name
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, entry["loc"])) for entry in error.errors())
            raise UpstreamFailed(
                f"AWS described {name} in a way this version cannot read: {fields}", hint="name it as a gap"
            ) from error


def _arguments(tool: str, arguments: Mapping[str, JsonValue]) -> WorkloadArgs:
    try:
        return TOOL_ARG_SCHEMAS[tool].model_validate(arguments)
    except ValidationError as error:
        troubles = "; ".join(f"{'.'.join(map(str, entry['loc']))}: {entry['msg']}" for entry in error.errors())
        raise InputRefused(f"{tool} cannot use these arguments: {troubles}", hint="give `lambda_name`") from error
