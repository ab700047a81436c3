"""The node's half of the demo: a node falls sick, its alarm fires, and nobody does anything until the proof."""

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from affidavit.entrypoints.cli.demo.step_printing import Story
from affidavit.errors import UpstreamFailed
from affidavit.incidents.store.state import IncidentState, Status
from affidavit.incidents.supervisor import Supervisor
from affidavit.sandbox.account.nodes import FleetNode
from affidavit.sandbox.aws.automation import archive_key
from affidavit.sandbox.aws.resources import BUCKET
from affidavit.sandbox.sandbox import Sandbox

FAULTS = ("oom", "cni_failure")
WAIT_SECONDS = 60.0
LOOK_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class NodeStory:
    """`run` types a command; `follow` shows an investigation until it ends."""

    story: Story
    sandbox: Sandbox
    supervisor: Supervisor
    run: Callable[[str], None]
    follow: Callable[[str], None]

    def tell(self, out: Path) -> None:
        """From the alarm to the proof; then the bundle and a report of it lie in `out`."""
        node = self._made_sick()
        self.story.step("It fails its status check, and CloudWatch's alarm fires")
        self.run(f"sandbox alarm {node.instance_id}")
        self.story.step("Evidence first: the node is asked for its logs, while nobody works on the incident")
        name = self._collected(node)
        self.story.step("The supervisor reads the bundle")
        self.follow(name)
        self.story.step("Its causes, and the lines of the node that show them")
        self.run(f"incident show {name}")
        self.story.step("Every line is read again from the stored bundle, byte for byte")
        self.run(f"verify {name}")
        self._reported(node, out)

    def _made_sick(self) -> FleetNode:
        healthy = next(node for node in self.sandbox.fleet.nodes if not node.faults)
        # Its logs begin some days ago, and are collected now.
        now = self.supervisor.clock.now().replace(microsecond=0) + timedelta(seconds=1)
        node = replace(healthy, faults=FAULTS, is_healthy=False, collected_at=now)
        self.sandbox.fleet.add(node)
        self.story.step("The other half: a worker node falls sick")
        self.story.say(
            f"{node.instance_id} of cluster {node.cluster}: a container outgrows its memory, and the network plugin "
            "finds no free addresses."
        )
        return node

    def _collected(self, node: FleetNode) -> str:
        state = self._seen(node, lambda state: True)
        self.story.say(f"The alarm became incident {state.incident_id}, about {state.incident.subject}.")
        self._seen(node, lambda state: state.status is not Status.RECEIVED)
        self.story.say("AWAITING_EVIDENCE: SSM runs AWS's log collector on the node, which uploads to the bucket.")
        self._seen(node, lambda state: state.status is not Status.AWAITING_EVIDENCE)
        count = len(self.sandbox.automation.runs_of(node.instance_id))
        self.story.say(f"The archive is indexed, which woke the incident. Collections of the node: {count}.")
        return state.incident_id

    def _seen(self, node: FleetNode, is_so: Callable[[IncidentState], bool]) -> IncidentState:
        """The node's incident, once it is so."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            for state in self.supervisor.states.listed(self.supervisor.clock.now(), limit=20):
                if state.incident.subject.id == node.instance_id and is_so(state):
                    return state
            time.sleep(LOOK_SECONDS)
        raise UpstreamFailed("the node's incident did not go on", hint="start again; `affidavit sandbox up` shows more")

    def _reported(self, node: FleetNode, out: Path) -> None:
        """The same bundle without an incident: as a person would read one that was handed over."""
        out.mkdir(parents=True, exist_ok=True)
        key = archive_key(node.instance_id)
        bundle, results = out / Path(key).name, shlex.quote(str(unused_results(out)))
        stored = self.sandbox.client("s3").get_object(Bucket=BUCKET, Key=key)
        bundle.write_bytes(stored["Body"].read())
        self.story.step("The same bundle as a person would read it, without AWS")
        self.run(f"analyze {shlex.quote(str(bundle))} --severity high --out {results}")


def unused_results(out: Path) -> Path:
    """A folder beside those of earlier demos: evidence is never overwritten, and each demo has a bundle of its own."""
    names = ("results", *(f"results-{number}" for number in range(2, 1000)))
    return next(out / name for name in names if not (out / name).exists())
