"""`affidavit incident` and the Lambdas, as people and AWS start them: real processes, no AWS account."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.investigations.incidents import an_incident
from tests.support.processes.command import affidavit

from affidavit.bootstrap import build_app
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.stored_diagnoses import context_key
from affidavit.ports.table import Put
from affidavit.sandbox.account.node_archives import archive_of
from affidavit.sandbox.account.nodes import FleetNode
from affidavit.settings import Settings

SCENARIO = "permission-s3-statement-removed"
WITH_A_GAP = "permission-s3-bare-access-denied"
"""Its log line names no resource, so the simulation of the action stays unread."""
ALERT = {
    "Records": [{"Sns": {"MessageId": "m-1", "Message": json.dumps({"function_name": "f", "incident_id": "inc-7"})}}]
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which one incident was investigated."""
    folder = tmp_path_factory.mktemp("data")
    done = run(folder, "incident", "submit", "--scenario", SCENARIO)
    assert done.returncode == 0, done.stderr
    return folder


def run(data: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return affidavit(*arguments, env={"AFFIDAVIT_DATA": str(data), "LOGS_BUCKET": "", "NO_COLOR": "1", **settings})


def only_id(data: Path) -> str:
    (told,) = json.loads(run(data, "incident", "list", "--json").stdout)
    return told["incident_id"]


def test_a_person_sees_the_cause_first_then_quotes_with_their_place_the_plan_and_the_gaps(tmp_path: Path) -> None:
    submitted = run(tmp_path, "incident", "submit", "--scenario", WITH_A_GAP)
    assert submitted.returncode == 0, submitted.stderr
    shown = run(tmp_path, "incident", "show", only_id(tmp_path))
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    assert "s3:GetObject" in lines[0]
    order = [shown.stdout.index(heading) for heading in ("\nEvidence", "get_iam_state /", "\nPlan", "\nNot known")]
    assert order == sorted(order)


def test_without_a_chat_model_no_call_of_one_is_claimed(data: Path) -> None:
    assert "concluded by rules, no chat model asked" in run(data, "incident", "show", only_id(data)).stdout


def test_an_event_of_several_records_is_told_as_one_json_document(tmp_path: Path) -> None:
    names = ("inc-a", "inc-b")
    notices = [{"function_name": "data-processor", "incident_id": name} for name in names]
    records = [{"Sns": {"MessageId": one["incident_id"], "Message": json.dumps(one)}} for one in notices]
    alert = tmp_path / "alert.json"
    alert.write_text(json.dumps({"Records": records}))
    told = run(tmp_path / "data", "incident", "submit", str(alert), "--scenario", SCENARIO, "--offline", "--json")
    assert told.returncode == 0, told.stderr
    assert [one["incident_id"] for one in json.loads(told.stdout)] == list(names)


def test_submitting_the_same_alert_again_runs_nothing_and_shows_what_is_known(data: Path) -> None:
    again = run(data, "incident", "submit", "--scenario", SCENARIO)
    assert again.returncode == 0
    assert len(json.loads(run(data, "incident", "list", "--json").stdout)) == 1


def test_a_stored_diagnosis_is_proven_again_and_a_forged_answer_is_caught(data: Path, tmp_path: Path) -> None:
    incident = only_id(data)
    assert "hold, as recorded" in run(data, "verify", incident).stdout
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(data), str(copy)], check=True)
    for answer in (copy / "objects" / "incidents" / incident / "answers").iterdir():
        answer.write_bytes(answer.read_bytes().replace(b"implicitDeny", b"allowed"))
    forged = run(copy, "verify", incident)
    assert forged.returncode == 3
    assert "was changed" in forged.stderr


CHANGES = {
    "a milder severity": ('"severity":"high"', '"severity":"low"'),
    "no approval": ('"requires_approval":true', '"requires_approval":false'),
    "other words": ('"root_cause":"', '"root_cause":"Perhaps: '),
}


@pytest.mark.parametrize(("was", "becomes"), CHANGES.values(), ids=CHANGES)
def test_a_stored_diagnosis_that_was_rewritten_is_not_proven(
    data: Path, tmp_path: Path, was: str, becomes: str
) -> None:
    incident, copy = only_id(data), tmp_path / "copy"
    subprocess.run(["cp", "-r", str(data), str(copy)], check=True)
    rewritten(copy, incident, was, becomes)
    found = run(copy, "verify", incident)
    assert found.returncode == 1
    assert "not the one that was recorded" in " ".join(found.stdout.split())


def test_a_damaged_diagnosis_is_told_as_such(data: Path, tmp_path: Path) -> None:
    incident, copy = only_id(data), tmp_path / "copy"
    subprocess.run(["cp", "-r", str(data), str(copy)], check=True)
    rewritten(copy, incident, '"severity":', '"gravity":')
    found = run(copy, "verify", incident)
    assert found.returncode == 3
    assert "cannot be read" in found.stderr


def rewritten(data: Path, incident: str, was: str, becomes: str) -> None:
    table = build_app(Settings.from_environment({"AFFIDAVIT_DATA": str(data)})).incident_context
    item = table.get(context_key(IncidentId(incident)))
    assert item is not None and was in str(item["diagnosis"])
    table.write(Put(item={**item, "diagnosis": str(item["diagnosis"]).replace(was, becomes, 1)}, table=table))


def test_what_is_not_there_or_no_alert_is_refused_with_a_hint(data: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    for arguments in (
        ("show", "nope"),
        ("redrive", "nope"),
        ("submit",),
        ("submit", str(bad)),
        ("submit", "gone.json"),
    ):
        refused = run(data, "incident", *arguments)
        assert refused.returncode == 2, refused.stdout + refused.stderr
        assert len(refused.stderr.splitlines()) >= 2, "a sentence and a hint"


def test_an_incident_that_is_still_worked_on_is_not_called_unknown(tmp_path: Path) -> None:
    app = build_app(Settings.from_environment({"AFFIDAVIT_DATA": str(tmp_path)}))
    states = IncidentStates(app.incident_state, app.clock)
    states.write_initial_state(an_incident("inc-9"), deadline=app.clock.now() + timedelta(minutes=5))
    proven = run(tmp_path, "verify", "inc-9")
    assert proven.returncode == 3
    assert "inc-9 has no diagnosis to verify" in proven.stderr
    shown = run(tmp_path, "incident", "show", "inc-9")
    assert shown.returncode == 1
    assert "it is being worked on" in shown.stdout


def test_a_diagnosed_incident_is_not_run_again_by_hand(data: Path) -> None:
    refused = run(data, "incident", "redrive", only_id(data), "--scenario", SCENARIO)
    assert refused.returncode == 2
    assert "is DIAGNOSED" in refused.stderr


def test_an_empty_list_is_not_called_healthy(tmp_path: Path) -> None:
    assert "not proof of health" in run(tmp_path, "incident", "list").stdout


@pytest.mark.parametrize("arguments", [("incident", "list"), ("incident", "show", "nosuch"), ("verify", "nosuch")])
def test_a_command_that_only_reads_leaves_nothing_behind(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    run(tmp_path / "data", *arguments)
    assert not (tmp_path / "data").exists()


DUPLICATE = """
import json, sys
from datetime import timedelta
from affidavit.entrypoints.lambdas import on_incident
from affidavit.incidents.intake.event_reader import readings_of

class Context:
    invoked_function_arn = ""

    def get_remaining_time_in_millis(self):
        return 300_000

event = json.loads(sys.argv[1])
app, supervisor = on_incident.application("")
(incident,) = readings_of(event, now=app.clock.now())
supervisor.states.take(incident, None, deadline=app.clock.now() + timedelta(minutes=5))
answer = on_incident.handler(event, Context())
heavy = sorted(name for name in sys.modules if name.partition(".")[0] in
               ("langgraph", "langchain", "langchain_core", "langchain_aws", "mcp", "boto3", "numpy", "hyperscan"))
print(json.dumps({"answer": answer, "heavy": heavy}), file=sys.stderr)
"""


def test_a_duplicate_delivery_is_answered_without_loading_an_agent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DUPLICATE, json.dumps(ALERT)],
        env={"AFFIDAVIT_DATA": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    told = json.loads(done.stderr.splitlines()[-1])
    assert told["heavy"] == []
    assert told["answer"]["statusCode"] == 200
    assert json.loads(told["answer"]["body"]) == [{"incident_id": "inc-7", "outcome": "already handled"}]


def test_a_node_of_a_laptop_is_asked_about_with_its_bundle_and_refused_without_one(tmp_path: Path) -> None:
    node, bundle = FleetNode(instance_id="i-0f3a9c1d7e5b24680", faults=("oom",)), tmp_path / "bundle.tar.gz"
    bundle.write_bytes(archive_of(node))
    asked = ("incident", "submit", "--node", node.instance_id, "--offline")
    refused = run(tmp_path, *asked)
    assert refused.returncode == 2
    assert "--bundle FILE" in refused.stderr
    for _ in range(2):
        done = run(tmp_path, *asked, "--bundle", str(bundle))
        assert done.returncode == 0, done.stderr
        assert "the bundle was given by whoever asked, who vouches for it" in done.stdout
    assert only_id(tmp_path).startswith(f"node-{node.instance_id}-")
