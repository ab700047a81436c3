"""Hides secrets in what an alert says, before it is stored, shown or sent to a chat model."""

import re
from dataclasses import replace

from affidavit.incidents.incident import Incident
from affidavit.redaction.redact import Around, Redactor

# What intake puts behind a message that it cut. A secret may be cut there, and what would have told it is gone.
_CUT = re.compile(r"… \(\d+ characters cut\)\Z")


def redacted_alert(alert: Incident) -> Incident:
    """Names of functions, ids and times lead somewhere and stay."""
    redactor = Redactor()
    message, signal_name, error_type, metric, node_name = (
        _redacted(text, redactor)
        for text in (alert.message, alert.signal_name, alert.error_type, alert.metric, alert.node_name)
    )
    return replace(
        alert,
        message=message,
        signal_name=signal_name,
        error_type=error_type,
        metric=metric,
        node_name=node_name,
    )


def _redacted(text: str, redactor: Redactor) -> str:
    cut = _CUT.search(text)
    if cut is None:
        return redactor.redact(text).text
    return redactor.redact(text[: cut.start()], Around(is_cut=True)).text + cut[0]
