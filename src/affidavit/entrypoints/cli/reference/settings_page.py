"""Writes `docs/reference/settings.md` from the settings themselves."""

from collections.abc import Iterator
from typing import Any

from affidavit.settings import Settings

# Variables that are not settings, but are read elsewhere.
ELSEWHERE = {
    "AWS_ENDPOINT_URL": "and the like for one service: where AWS is, as every AWS SDK reads it; the sandbox sets it",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "where spans and metrics are sent; nothing is sent without it",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "the same, for spans alone",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "the same, for metrics alone",
    "AWS_LAMBDA_FUNCTION_NAME": "set by Lambda: metrics are then also written as log lines (EMF)",
    "XDG_CACHE_HOME": "where compiled rules are kept between runs",
}


def settings_page() -> Iterator[str]:
    yield "# Settings"
    yield ""
    yield "Environment variables, read once when the program starts; an empty one counts as not set. Options of a"
    yield "command come first. The same program runs on a laptop and in AWS: only these differ."
    yield from ("", "| variable | default | meaning |", "| --- | --- | --- |")
    for entry in Settings.model_fields.values():
        yield f"| `{entry.alias}` | {_default(entry.default)} | {_sentence(entry.description or '')} |"
    yield from ("", "## Read elsewhere", "", "| variable | meaning |", "| --- | --- |")
    yield from (f"| `{name}` | {_sentence(meaning)} |" for name, meaning in ELSEWHERE.items())


def _default(value: Any) -> str:
    if value == "":
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}.".replace("|", "\\|")
