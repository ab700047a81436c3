"""Every variable the program reads stands on the page of settings."""

import re
from pathlib import Path

import affidavit
from affidavit.entrypoints.cli.reference.settings_page import ELSEWHERE, settings_page
from affidavit.settings import Settings

READ = re.compile(r'os\.environ(?:\.get\(|\[)"([A-Z_]+)"|"([A-Z_]+)" in os\.environ|envvar="([A-Z_]+)"')


def test_every_setting_is_described() -> None:
    page = "\n".join(settings_page())
    for entry in Settings.model_fields.values():
        assert entry.alias is not None and entry.description
        assert f"| `{entry.alias}` |" in page


def test_no_other_variable_is_read_unsaid() -> None:
    page = "\n".join(settings_page())
    read = {
        next(filter(None, found))
        for file in Path(affidavit.__file__).parent.rglob("*.py")
        if "sandbox" not in file.parts  # it starts programs of others, with variables of theirs
        for found in READ.findall(file.read_text("utf-8"))
    }
    assert read, "the expression finds nothing"
    assert sorted(name for name in read if f"`{name}`" not in page) == []


def test_nothing_of_ours_is_read_beside_the_settings() -> None:
    """What is left belongs to others: AWS, OpenTelemetry, the desktop."""
    assert set(ELSEWHERE) == {
        "AWS_ENDPOINT_URL",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
        "AWS_LAMBDA_FUNCTION_NAME",
        "XDG_CACHE_HOME",
    }
