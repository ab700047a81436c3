"""The agent's numbers where the answer is known."""

from affidavit.evaluation.incidents.metrics import IncidentRun, incident_metrics

IAM, NET = frozenset({"iam"}), frozenset({"network"})


def a_run(answer: frozenset[str] | None, scenario: str = "s", **fields: object) -> IncidentRun:
    return IncidentRun(scenario=scenario, fault_types=answer, **fields)


def test_one_right_answer_in_three_passes_once_and_not_always() -> None:
    numbers = incident_metrics({"s": IAM}, [a_run(IAM), a_run(NET), a_run(None, failure="no answer")])
    assert (numbers.pass_at_k, numbers.all_k, numbers.majority_at_3) == (1.0, 0.0, 0.0)
    assert numbers.exact_set_accuracy == 1 / 3
    assert numbers.failures == 1


def test_two_right_answers_in_three_are_the_majority() -> None:
    assert incident_metrics({"s": IAM}, [a_run(NET), a_run(IAM), a_run(IAM)]).majority_at_3 == 1.0


def test_a_set_with_one_fault_too_many_is_wrong() -> None:
    assert incident_metrics({"s": IAM}, [a_run(IAM | NET)]).exact_set_accuracy == 0.0


def test_a_scenario_that_never_ran_is_missed() -> None:
    numbers = incident_metrics({"s": IAM, "t": NET}, [a_run(IAM)])
    assert (numbers.exact_set_accuracy, numbers.pass_at_k, numbers.all_k) == (0.5, 0.5, 0.5)
    assert numbers.majority_at_3 is None


def test_claims_that_do_not_verify_are_counted_and_so_is_what_was_stored() -> None:
    numbers = incident_metrics({"s": IAM}, [a_run(IAM, claims=4, verified_claims=3, fabricated_stored=1)])
    assert (numbers.verified_evidence_rate, numbers.unsupported_claims, numbers.fabricated_stored) == (0.75, 1, 1)


def test_no_run_of_no_scenario_is_defined() -> None:
    numbers = incident_metrics({}, [])
    assert (numbers.exact_set_accuracy, numbers.verified_evidence_rate, numbers.tokens_p50) == (1.0, 1.0, None)
