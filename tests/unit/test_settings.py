"""A setting that would break a promise is refused, with the reason."""

import pytest

from affidavit.errors import InputRefused
from affidavit.settings import Settings


@pytest.mark.parametrize("days", ["24", "90"])
def test_incidents_may_be_kept_longer_than_alerts_are_delivered_again(days: str) -> None:
    assert Settings.from_environment({"INCIDENT_TTL_DAYS": days}).incident_ttl_days == int(days)


@pytest.mark.parametrize("days", ["23", "1", "0", "-5"])
def test_incidents_that_would_be_forgotten_before_their_last_redelivery_are_refused_with_the_reason(days: str) -> None:
    with pytest.raises(InputRefused, match=rf"INCIDENT_TTL_DAYS: {days} days are too few.* 23 days"):
        Settings.from_environment({"INCIDENT_TTL_DAYS": days})


def test_stored_secrets_fill_only_secret_settings_that_the_environment_lacks() -> None:
    stored = {"SLACK_BOT_TOKEN": "stored", "CHAT_API_KEY": "stored", "ENABLE_COLLECTION": "true", "NONSENSE": "1"}
    settings = Settings.from_environment({"CHAT_API_KEY": "own"}).with_secrets(stored)
    assert (settings.slack_bot_token, settings.chat_api_key) == ("stored", "own")
    assert settings.enable_collection is False
