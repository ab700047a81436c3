"""Loads incident scenarios of a Lambda function: the alert, what every API would return, and the truth about it.

One YAML file a scenario, a patch over a healthy account (`base.yaml`, or `base-vpc.yaml` for a function in a VPC):
mappings merge, lists and texts replace, null removes. A file that does not fit the schema does not load.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from affidavit.errors import InputRefused
from affidavit.evaluation.incidents.alert_events import ACCOUNT, Alert, alert_event
from affidavit.evaluation.incidents.invocation_logs import log_lines
from affidavit.evaluation.incidents.scripted_aws_account import AccountState, ScriptedInspector
from affidavit.evidence.diagnosis import FaultType
from affidavit.workloads.questions import Workloads
from affidavit.yaml_loading import load_yaml

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "lambda"
FUNCTION = "data-processor"
NOW = datetime(2026, 3, 3, 10, 15, tzinfo=UTC)
BASES = {"plain": "base.yaml", "vpc": "base-vpc.yaml"}


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Proof(_Record):
    """What shows the fault: the value of a `field`, or a text that some log event `contains`."""

    tool: Literal["get_recent_logs", "get_iam_state", "get_lambda_config", "get_network_state", "get_recent_changes"]
    field: str | None = None
    value: JsonValue = None
    contains: str | None = None


class Truth(_Record):
    fault_types: frozenset[FaultType]
    """Empty: nothing is wrong now."""
    affected: list[str] = Field(default_factory=list[str])
    proof: list[Proof] = Field(default_factory=list[Proof])
    root_cause_names: list[str] = Field(default_factory=list[str])
    """A right root cause has each of these words in it, in any case; `a|b` asks for one of the two."""
    must_not_claim: frozenset[FaultType] = frozenset()
    must_not_say: list[str] = Field(default_factory=list[str])
    """Texts that appear in the account, as bait, and may not reach root cause, plan or affected resources."""


class _File(_Record):
    title: str
    why: str
    """Why this scenario exists: the trap, or the wording."""
    base: Literal["plain", "vpc"] = "plain"
    alert: Alert
    account: dict[str, JsonValue]
    truth: Truth


class _Clock:
    def now(self) -> datetime:
        return NOW


@dataclass(frozen=True, kw_only=True)
class WorkloadScenario:
    scenario_id: str
    title: str
    why: str
    alert: Alert
    account: AccountState
    truth: Truth

    @property
    def function(self) -> str:
        return str(self.account.function["FunctionName"])

    def event(self) -> dict[str, JsonValue]:
        """The alert as the supervisor receives it."""
        account = [*str(self.account.function.get("FunctionArn", "")).split(":"), "", "", "", "", ""][4]
        return alert_event(
            self.alert, function=self.function, seed=self.scenario_id, at=NOW, account=account or ACCOUNT
        )

    def inspector(self) -> ScriptedInspector:
        lines = log_lines(
            self.account.logs,
            seed=self.scenario_id,
            now=NOW,
            memory_size=_number(self.account.function, "MemorySize", 128),
            timeout=_number(self.account.function, "Timeout", 3),
        )
        return ScriptedInspector(state=self.account, lines=tuple(lines), now=NOW)

    def workloads(self) -> Workloads:
        """The five questions, answered from this scenario alone and scoped to its function."""
        return Workloads(inspector=self.inspector(), clock=_Clock(), functions=frozenset({self.function}))


def load_workload_scenarios(folder: Path = SCENARIOS, *, with_folders: bool = True) -> list[WorkloadScenario]:
    """In the order of their paths. Raises InputRefused naming the file that does not load.

    Attacks load them without sub-folders: these are few enough that the seeds of every attack reach each scenario.
    """
    found = folder.rglob("*.yaml") if with_folders else folder.glob("*.yaml")
    paths = sorted(path for path in found if not path.name.startswith("base"))
    if not paths:
        raise InputRefused(f"{folder} holds no scenario", hint="give a folder with one YAML file a scenario")
    return [load_workload_scenario(path) for path in paths]


def load_workload_scenario(path: Path) -> WorkloadScenario:
    try:
        file = _File.model_validate(load_yaml(path.read_text()))
        base = _base(_near(path, BASES[file.base]))
        account = AccountState.model_validate(patched(base, file.account))
    except (OSError, ValidationError, yaml.YAMLError) as error:
        raise InputRefused(f"scenario {path} does not load: {error}", hint="correct the file") from error
    return WorkloadScenario(
        scenario_id=path.stem, title=file.title, why=file.why, alert=file.alert, account=account, truth=file.truth
    )


def _near(path: Path, name: str) -> Path:
    """The base in the file's folder or in one above it; else the built-in one."""
    found = (folder / name for folder in list(path.parents)[:2] if (folder / name).exists())
    return next(found, SCENARIOS / name)


def patched(base: JsonValue, patch: JsonValue) -> JsonValue:
    """Mappings merge, null removes, everything else replaces."""
    if not isinstance(base, dict) or not isinstance(patch, dict):
        return patch
    merged = {key: patched(base.get(key), value) for key, value in patch.items() if value is not None}
    return {key: value for key, value in base.items() if key not in patch} | merged


@cache
def _base(path: Path) -> JsonValue:
    """A base may itself be a patch: `over` names the file below it."""
    own = load_yaml(path.read_text())
    below = own.pop("over", None)
    return patched(_base(_near(path, below)), own) if below else own


def _number(raw: dict[str, JsonValue], key: str, default: int) -> int:
    value = raw.get(key)
    return value if isinstance(value, int) else default
