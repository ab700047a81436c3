"""Templates and packages → a running deployment, and back. The same on AWS and on the sandbox."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.deploy.package_bucket_and_mcp_key import Artifacts
from affidavit.adapters.aws.deploy.stacks import ChangeSet, Stacks
from affidavit.errors import InputRefused

# Each after those whose exports it imports.
ORDER = (
    "AffidavitNetwork",
    "AffidavitStorage",
    "AffidavitState",
    "AffidavitNodeLogs",
    "AffidavitSupervisor",
    "AffidavitObservability",
    "AffidavitDemo",
    "AffidavitAgentCore",
    "AffidavitRemediation",
    "AffidavitConsole",
)
OPTIONAL = {
    "demo": "AffidavitDemo",
    "agentcore": "AffidavitAgentCore",
    "remediation": "AffidavitRemediation",
    "console": "AffidavitConsole",
}
_BUCKET = "ArtifactsBucket"
_PACKAGE = "Package"

Say = Callable[[str], None]
Template = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """`parameters` are for every stack that has one of that name. `extras` are names of OPTIONAL."""

    templates: Path
    packages: Path
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    extras: frozenset[str] = frozenset()

    def chosen(self) -> dict[str, Template]:
        """Each after those that it needs."""
        left_out = {stack for name, stack in OPTIONAL.items() if name not in self.extras}
        files = {name: self.templates / f"{name}.template.json" for name in ORDER if name not in left_out}
        found = {name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}
        if "AffidavitStorage" not in found:
            raise InputRefused(f"there are no templates in {self.templates}", hint="make synth, or give --templates")
        self._check(found)
        return found

    def _check(self, chosen: Mapping[str, Template]) -> None:
        known = {name for template in chosen.values() for name in template.get("Parameters", {})}
        if unknown := sorted(set(self.parameters) - known):
            raise InputRefused(
                f"no stack has a parameter {', '.join(unknown)}", hint=f"there are {', '.join(sorted(known))}"
            )

    def files(self) -> dict[str, Path]:
        """The packages by name."""
        try:
            listed = json.loads((self.packages / "packages.json").read_text())
        except FileNotFoundError as error:
            raise InputRefused(
                f"there are no packages in {self.packages}", hint="make package, or give --packages"
            ) from error
        return {each["name"]: self.packages / each["file"] for each in listed}


class Deployment:
    def __init__(self, clients: AwsClients, wanted: Wanted, say: Say) -> None:
        self.stacks, self._artifacts = Stacks(clients), Artifacts(clients)
        self._wanted, self._say = wanted, say

    def plan(self) -> list[ChangeSet]:
        """What would change. Proposed to CloudFormation and taken back: nothing is left behind.

        A stack that imports from one that is not there yet cannot be proposed; all of it would be new.
        """
        planned: list[ChangeSet] = []
        for name, template in self._wanted.chosen().items():
            if planned and planned[0].is_new:
                planned.append(ChangeSet(stack=name, name="", is_new=True, changes=()))
                continue
            proposed = self.stacks.propose(name, template, self._parameters(name, template))
            self.stacks.discard(proposed)
            planned.append(proposed)
        return planned

    def apply(self, *, key_parameter: str) -> dict[str, str]:
        """All outputs. Doing it again changes only what differs."""
        chosen = self._wanted.chosen()
        bucket = self._artifacts.make_bucket()
        for file in self._wanted.files().values():
            if self._artifacts.upload(bucket, file):
                self._say(f"uploaded {file.name}")
        if self._artifacts.make_server_key(key_parameter):
            self._say(f"made the server's key in {key_parameter}")
        outputs: dict[str, str] = {}
        for name, template in chosen.items():
            self._bring_up(name, template)
            outputs |= self.stacks.outputs(name)
        return outputs

    def destroy(self, *, extras: Sequence[str] = ()) -> list[str]:
        """The last first. What keeps data is kept by its stack's own rule."""
        wanted = [OPTIONAL[name] for name in extras] or list(ORDER)
        there = [name for name in reversed(ORDER) if name in wanted and self.stacks.status(name) is not None]
        for name in there:
            self._say(f"deleting {name}")
            self.stacks.delete(name)
        return there

    def _bring_up(self, name: str, template: Template) -> None:
        proposed = self.stacks.propose(name, template, self._parameters(name, template))
        if not proposed.changes:
            self.stacks.discard(proposed)
            self._say(f"{name}: nothing to change")
            return
        self._say(f"{name}: {len(proposed.changes)} change(s)")
        self.stacks.execute(proposed)

    def _parameters(self, stack: str, template: Template) -> dict[str, str]:
        files = self._wanted.files()
        packages = {f"{name.title()}{_PACKAGE}": file.name for name, file in files.items()}
        known = {_BUCKET: self._artifacts.bucket(), **packages, **self._wanted.parameters}
        asked: Mapping[str, Any] = template.get("Parameters", {})
        needed = {name for name, each in asked.items() if name not in known and "Default" not in each}
        # What was chosen before stays.
        if needed and (missing := sorted(needed - self.stacks.parameters(stack))):
            raise InputRefused(f"a value is needed for {', '.join(missing)}", hint="give --parameter NAME=VALUE")
        return {name: known[name] for name in asked if name in known}
