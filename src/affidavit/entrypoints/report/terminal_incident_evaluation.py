"""What `eval incidents` and `eval adversarial` found, on a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from affidavit.entrypoints.report.terminal_escapes_and_colours import text
from affidavit.evaluation.incidents.chat_model_attacks import AdversarialResult
from affidavit.evaluation.incidents.judged_lies import HONEST
from affidavit.evaluation.incidents.result import IncidentScenarioResult, IncidentsResult

_TROUBLES = 5


def print_incidents(
    console: Console, found: IncidentsResult, before: IncidentsResult | None, *, is_quiet: bool
) -> None:
    if not is_quiet:
        console.print(f"Chat model: {found.provider}; {found.k} runs a scenario")
        console.print(_scenarios(found))
        console.print(_numbers(found, before))
    for scenario in found.scenarios:
        print_troubles(console, scenario.id, scenario.troubles)


def print_attacks(console: Console, found: AdversarialResult, *, is_quiet: bool) -> None:
    if not is_quiet:
        console.print(_attacks(found))
        claimed, stored = (found.metrics[name] for name in ("fabricated_claimed", "fabricated_stored"))
        console.print(
            f"Fabricated evidence over {found.seeds} seeds: {shown(claimed)} handed in, {shown(stored)} stored"
        )
        if found.lies:
            _print_lies(console, found)
    for attack in found.attacks:
        print_troubles(console, attack.attack, attack.troubles)
    print_troubles(console, "true pointers", found.lie_troubles)


def _print_lies(console: Console, found: AdversarialResult) -> None:
    table = columns(Table(box=None, pad_edge=False), left=("true pointers",), right=("refused", "supported", "proven"))
    for one in found.lies:
        is_bad = one.refused if one.kind == HONEST else one.proven
        table.add_row(
            text(one.kind, "bold red" if is_bad else ""), str(one.refused), str(one.supported), str(one.proven)
        )
    console.print(table)
    refused, sentences, net = (
        found.metrics[name] for name in ("honest_refused_rate", "honest_sentences", "net_refused_rate")
    )
    console.print(
        f"Honest diagnoses refused: {shown(refused)}; of {shown(sentences)} honest sentences, taken for an unproven "
        f"denial by their words: {shown(net)}"
    )


def print_troubles(console: Console, name: str, troubles: tuple[str, ...]) -> None:
    for trouble in troubles[:_TROUBLES]:
        console.print(text(f"{name}: ", "bold red"), text(trouble), sep="")
    if len(troubles) > _TROUBLES:
        console.print(text(f"{name}: and {len(troubles) - _TROUBLES} more"))


def shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def columns(table: Table, *, left: tuple[str, ...], right: tuple[str, ...]) -> Table:
    for name in left:
        table.add_column(name, no_wrap=name == left[0])
    for name in right:
        table.add_column(name, justify="right")
    return table


def _attacks(found: AdversarialResult) -> Table:
    right = ("runs", "lies", "false", "stored", "obeyed", "wrong", "rules", "proven", "s")
    table = columns(Table(box=None, pad_edge=False, collapse_padding=True), left=("attack",), right=right)
    for one in found.attacks:
        counts = (one.runs, one.deviations, one.fabricated_claimed, one.fabricated_stored)
        ends = (one.orders_followed, one.false_causes, one.by_rules, one.proven)
        is_bad = one.fabricated_stored or one.orders_followed or one.unmarked_false_causes
        cells = [str(count) for count in (*counts, *ends)]
        table.add_row(text(one.attack, "bold red" if is_bad else ""), *cells, f"{one.seconds:.1f}")
    return table


def _scenarios(found: IncidentsResult) -> Table:
    right = ("right", "evidence", "verified", "calls", "tokens", "s")
    table = columns(Table(box=None, pad_edge=False), left=("scenario", "answer"), right=right)
    for scenario in found.scenarios:
        table.add_row(*_row(scenario))
    return table


def _row(scenario: IncidentScenarioResult) -> list[Text | str]:
    answers = " | ".join(dict.fromkeys(scenario.answers))
    return [
        text(scenario.id, "bold red" if scenario.troubles else ""),
        text(answers),
        f"{scenario.right}/{len(scenario.answers)}",
        str(scenario.claims),
        str(scenario.verified_claims),
        str(scenario.tool_calls),
        str(scenario.tokens),
        f"{scenario.seconds:.2f}",
    ]


def _numbers(found: IncidentsResult, before: IncidentsResult | None) -> Table:
    right = ("incidents", *(("baseline",) if before is not None else ()))
    table = columns(Table(box=None, pad_edge=False), left=("metric",), right=right)
    for name, value in found.metrics.items():
        table.add_row(name, shown(value), *((shown(before.metrics.get(name)),) if before is not None else ()))
    return table
