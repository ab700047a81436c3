"""Where settings name the API of a cluster, what it takes must be there."""

import pytest

from affidavit import bootstrap
from affidavit.errors import InputRefused
from affidavit.settings import Settings


def test_without_the_client_of_kubernetes_its_setting_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bootstrap, "find_spec", lambda _: None)
    settings = Settings.from_environment({"LOGS_BUCKET": "b", "KUBERNETES_API": "eks"})
    with pytest.raises(InputRefused, match="KUBERNETES_API=eks") as refused:
        bootstrap.build_app(settings)
    assert "affidavit[kubernetes]" in refused.value.hint


def test_without_the_setting_nothing_of_kubernetes_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "find_spec", lambda _: None)
    app = bootstrap.build_app(Settings.from_environment({"LOGS_BUCKET": "b"}))
    assert app.control_plane is None
    assert app.captures is None
