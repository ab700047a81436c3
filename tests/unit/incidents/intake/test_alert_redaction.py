"""What an alert says is stored without its secrets, also where intake cut it in the middle of one."""

import pytest
from tests.support.investigations.incidents import an_incident

from affidavit.incidents.incident import incident_to_json
from affidavit.incidents.intake.alert_incident import MESSAGE_CHARACTERS
from affidavit.incidents.intake.alert_redaction import redacted_alert

SECRET = "Ex4mple!Word9"


@pytest.mark.parametrize("field", ["message", "signal_name", "error_type", "metric", "node_name"])
def test_no_text_of_an_alert_keeps_a_secret(field: str) -> None:
    alert = an_incident(**{field: f"login with password={SECRET} failed"})
    assert SECRET in incident_to_json(alert)
    assert SECRET not in incident_to_json(redacted_alert(alert))


@pytest.mark.parametrize("shown", [4, 8, len(SECRET)])
def test_a_secret_that_the_end_of_the_message_cuts_is_hidden(shown: int) -> None:
    head = "x " * ((MESSAGE_CHARACTERS - 60) // 2) + "cannot reach postgres://app:" + SECRET[:shown]
    alert = an_incident(message=f"{head}… (40 characters cut)")
    told = redacted_alert(alert).message
    assert SECRET[:shown] not in told
    assert told.endswith("… (40 characters cut)")
