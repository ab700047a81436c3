"""An incident without a diagnosis, as a person sees it: why, what is proven all the same, and where the facts are."""

from io import StringIO
from pathlib import Path

from rich.console import Console
from tests.support.investigations.incidents import REMAINING, Scripted, a_bench, an_incident, false_diagnosis

from affidavit.entrypoints.cli.incident.text import print_incident
from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory, RunOutcome
from affidavit.incidents.incident import IncidentId

ID = IncidentId("inc-1")


def shown(folder: Path, scripted: Scripted) -> str:
    bench = a_bench(folder, scripted=scripted, has_tools=True)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    state, out = bench.states.get_state(ID), StringIO()
    assert state is not None
    print_incident(state, bench.contexts.get_context(ID), Console(file=out, width=200))
    return out.getvalue()


def test_a_run_that_could_not_start_shows_what_rules_prove_and_where_the_facts_are(tmp_path: Path) -> None:
    error = AgentError(category=ErrorCategory.BEDROCK_AUTH, message="AccessDeniedException")
    text = shown(tmp_path, Scripted(error=error))
    assert text.startswith("ERROR: no diagnosis\n  [bedrock_auth] AccessDeniedException")
    assert "What rules alone can prove meanwhile:" in text
    assert "`affidavit incident show inc-1 --json`, under `evidence`" in text


def test_a_run_that_proved_nothing_says_why(tmp_path: Path) -> None:
    text = shown(tmp_path, Scripted(outcome=RunOutcome.DEADLINE))
    assert "deadline reached without diagnosis" in text
    assert "`affidavit incident redrive inc-1` runs it again" in text


def test_the_reasons_for_an_unverified_diagnosis_are_shown_whole(tmp_path: Path) -> None:
    text = shown(tmp_path, Scripted(diagnosis=false_diagnosis()))
    assert "Why there is no more" in text
    assert "  - evidence[0]: /events/0/message is" in text


def test_what_a_chat_model_was_asked_is_counted(tmp_path: Path) -> None:
    assert "2 chat-model calls, 200 tokens" in shown(tmp_path, Scripted())
