"""Words that deny, in many wordings, and words that only sound like it."""

import pytest

from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.verification.absence import claims_absence
from affidavit.verification.negation import denies

DENIALS = [
    "No throttles occurred.",
    "There were no timeouts in the window.",
    "The function was never throttled.",
    "Throttling is absent.",
    "The logs are free of errors.",
    "The log lacks any timeout.",
    "Timeouts did not take place.",
    "It ran without a single error.",
    "Not a single request failed.",
    "We see no sign of throttling.",
    "The window contains no denied call.",
    "Nobody was turned away.",
    "Errors are nowhere to be found.",
    "The network is not blocked.",
    "The function hasn't timed out.",
    "The function hasn\u2019t been throttled.",
    "Memory never ran out.",
    "Kills for want of memory can be excluded.",
    "This rules throttling out.",
    "Throttling can be ruled out.",
    "The network cannot be the cause.",
    "The log is clean.",
    "All runs succeeded.",
    "Every recent invocation has finished well.",
    "This error is the only one.",
    "It happened only once.",
    "Timeouts failed to appear.",
    "Neither throttles nor timeouts are present.",
    "The error count stayed at zero.",
    "Failures are at 0.",
    "The function works as expected.",
    "The role is fine.",
    "The failure is over.",
    "It is un\u200baffected: the network is n\u200bot blocked.",
    "The configuration was not\nchanged.",
    "Throttling has yet to be seen.",
    "Throttling can be dismissed.",
    "Everything else checks out.",
    "The role has every permission it needs.",
    "Memory stayed well below the limit.",
    "Throttles: 0",
    "errors=0",
    "The throttle counter reads zero.",
    "Throttling isn't an issue.",
    "I couldn't find a single timeout.",
    "The errors have ceased.",
    "Not throttled.",
    "An error-free window, unthrottled.",
    "Timeouts are non-existent.",
    "Throttling played no part.",
    "Barely any errors.",
    "The problem has been resolved.",
    "The remaining lines are routine.",
    "Keine Fehler im Protokoll.",
    "Aucune erreur dans les journaux.",
    "Sin errores.",
    "没有错误",
    "Ошибок нет.",
    "n\u043e throttles",
    "\uff4e\uff4f throttles",
]
STATEMENTS = [
    "The function could not reach what it calls.",
    "The role lost the permission to read the bucket.",
    "Lambda cannot use the key.",
    "The run ended for want of memory.",
    "Lambda stopped the run at its time limit.",
    "The module cannot be imported.",
    "IAM does not know the role that the function names.",
    "The boundary forbids it.",
    "Calls of this function that were refused.",
    "The function can never run.",
    "The newest run, which ended well.",
    "The security group lets nothing out.",
    "The called service asked to slow down.",
    "The handler does not exist in the package.",
    "The route's target has been deleted.",
    "The role does not have sufficient permissions for s3:GetObject.",
    "The host name could not be resolved.",
    "The error: missing environment variable TABLE.",
    "The function has no role.",
    "Café and naïve are Latin enough.",
    "It took 12 µs, a λ that starts cold.",
]


@pytest.mark.parametrize("sentence", DENIALS)
def test_a_denial_is_noticed_in_any_wording(sentence: str) -> None:
    assert denies(sentence)


@pytest.mark.parametrize("sentence", STATEMENTS)
def test_a_statement_of_what_happened_is_no_denial(sentence: str) -> None:
    assert not denies(sentence)


def pointer(value: str, interpretation: str) -> EvidencePointer:
    return EvidencePointer(
        tool="get_recent_logs", field="/events/0/message", value=value, interpretation=interpretation
    )


def test_a_line_with_a_not_in_it_does_not_excuse_a_denial_of_something_else() -> None:
    assert claims_absence(pointer("cache not warmed, loading", "There were no throttles."))
    assert not claims_absence(pointer("no identity-based policy allows it", "No policy allows the call."))


def test_what_a_line_says_in_another_script_may_be_repeated_and_nothing_else_said_in_it() -> None:
    line = "AccessDenied: роль чтения 日本支社, n\u043e problem"
    assert not claims_absence(pointer(line, "The role роль чтения of 日本 was denied."))
    assert claims_absence(pointer(line, "Ошибок нет."))
    assert claims_absence(pointer(line, "n\u043e throttles"))
