"""An alert of another account or region is refused, never answered from the local function of the same name."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.investigations.incidents import REMAINING, Bench, an_incident

from affidavit.incidents.intake.delivery_handling import deliver
from affidavit.incidents.intake.other_account_alerts import ForeignAlert, Home

HERE = Home(region="ca-central-1", account=lambda: "123456789012")
REPORT = {"function_name": "data-processor", "error_type": "ClientError", "timestamp": "2026-01-15T10:00:00Z"}


@pytest.mark.parametrize(
    ("where", "words"),
    [({"region": "eu-west-1"}, "in region eu-west-1"), ({"account": "999999999999"}, "in account 999999999999")],
)
def test_a_foreign_alert_is_put_aside_with_the_reason_and_nothing_is_asked(
    bench: Bench, where: dict[str, Any], words: str
) -> None:
    supervisor = replace(bench.supervisor, home=HERE)
    event = {"Records": [{"Sns": {"MessageId": "m", "Message": json.dumps({**REPORT, **where})}}]}
    (done,) = deliver(event, supervisor, bench.objects, remaining=REMAINING)
    assert done.outcome.startswith("quarantined: the alert is about function:data-processor " + words)
    assert bench.scripted.runs == []
    (kept,) = bench.objects.list("quarantine/")
    assert words in json.loads(bench.objects.get(kept.key))["problem"]


@pytest.mark.parametrize(
    "home",
    [HERE, Home(), Home(region="ca-central-1"), Home(account=lambda: "123456789012")],
    ids=["same", "unknown", "account unknown", "region unknown"],
)
def test_what_is_the_same_or_not_known_is_not_refused(home: Home) -> None:
    home.check(an_incident())
    home.check(an_incident(account="", region=""))


def test_a_duplicate_is_answered_without_asking_for_the_account(bench: Bench) -> None:
    bench.supervisor.receive(an_incident(), remaining=REMAINING)

    def asked() -> str:
        raise AssertionError("asked")

    known = replace(bench.supervisor, home=Home(region="ca-central-1", account=asked))
    assert known.receive(an_incident(), remaining=REMAINING).handled == "already handled"


def test_the_region_is_compared_first_so_that_nobody_is_asked_in_vain(bench: Bench) -> None:
    with pytest.raises(ForeignAlert, match="eu-west-1"):
        Home(region="ca-central-1", account=lambda: "other").check(an_incident(region="eu-west-1"))
