"""A sentence that says the opposite of its value, or rests on a quote cut in the wrong place, is refused."""

import pytest

from affidavit.evidence.diagnosis import Claim, EvidencePointer
from affidavit.ports.json import JsonValue
from affidavit.verification.claims.contradicted_values import contradicted_value
from affidavit.verification.claims.counts import miscounted
from affidavit.verification.claims.misleading_quotes import cut_quote
from affidavit.verification.claims.sentence_meanings import says

DENIED = "User: x is not authorized to perform: s3:GetObject because no identity-based policy allows the action"
FULL = "OSError: [Errno 28] No space left on device, used=512 MB"
DOWN = "503 Server Error: Service Unavailable for url: https://a.example\nIs the server accepting connections?"


def a_pointer(value: JsonValue, sentence: str, field: str = "/value", claim: Claim = Claim.SHOWS) -> EvidencePointer:
    return EvidencePointer(tool="t", field=field, value=value, interpretation=sentence, claim=claim)


@pytest.mark.parametrize(
    ("value", "sentence", "field"),
    [
        ("implicitDeny", "The simulator allows it.", "/decision"),
        ("implicitDeny", "An explicit deny is in force.", "/decision"),
        ("allowed", "The role may not send.", "/decision"),
        ("allowed", "Sending is still denied.", "/decision"),
        ("Active", "The function is inactive.", "/State"),
        (0, "There was heavy throttling.", "/Metrics/throttles"),
        (0, "It has no reservation, so its concurrency is unlimited.", "/ReservedConcurrentExecutions"),
        (None, "A boundary is set on the role.", "/permissions_boundary"),
        ([], "All outbound traffic is allowed.", "/egress"),
        ([], "Several changes were made before.", "/changes"),
        (False, "The log is complete, every event is there.", "/is_complete"),
        (True, "Only a part of the log was returned.", "/is_complete"),
        ("RevokeSecurityGroupEgress", "A new rule was added.", "/event_name"),
        ("503 Server Error: Service Unavailable", "The vendor answered successfully.", "/message"),
    ],
)
def test_the_opposite_of_the_value_is_refused(value: JsonValue, sentence: str, field: str) -> None:
    assert list(contradicted_value(a_pointer(value, sentence, field)))


@pytest.mark.parametrize(
    ("value", "sentence", "field"),
    [
        ("implicitDeny", "No policy allows it, an implicit deny.", "/decision"),
        ("allowed", "Sending is allowed, so permissions are not the reason.", "/decision"),
        (0, "Reserved concurrency is 0: the function can never run.", "/ReservedConcurrentExecutions"),
        (0, "There were no throttles.", "/Metrics/throttles"),
        (0, "How many runs at once are allowed.", "/ReservedConcurrentExecutions"),
        (None, "The function is in no VPC.", "/vpc_id"),
        ([], "The list of rules is empty, nothing gets out.", "/egress"),
        (False, "Not all events were returned.", "/is_complete"),
        ("RevokeSecurityGroupEgress", "The egress rule was revoked.", "/event_name"),
        ("503 Server Error: Service Unavailable", "The vendor is not available.", "/message"),
        ("Max Memory Used: 93 MB", "Memory is sufficient.", "/message"),
    ],
)
def test_what_agrees_with_the_value_is_let_through(value: JsonValue, sentence: str, field: str) -> None:
    assert list(contradicted_value(a_pointer(value, sentence, field))) == []


@pytest.mark.parametrize(
    ("quote", "sentence", "there"),
    [
        ("authorized to perform: s3:GetObject", "The role is authorized.", DENIED),
        ("authorized to perform: s3:GetObject", "What the log says about it.", DENIED),
        ("identity-based policy allows the action", "A policy allows the action.", DENIED),
        ("space left on device", "There is space left.", FULL),
        ("space left on device, used=5", "Just 5 MB are used.", FULL),
        ("available for url", "The service is available.", DOWN),
        ("accepting connections", "The server is accepting connections.", DOWN),
    ],
)
def test_a_quote_that_leaves_out_what_turns_its_meaning_is_refused(quote: str, sentence: str, there: str) -> None:
    assert list(cut_quote(a_pointer(quote, sentence), there))


@pytest.mark.parametrize(
    ("quote", "sentence", "there"),
    [
        ("is not authorized to perform: s3:GetObject", "The role was refused.", DENIED),
        ("authorized to perform: s3:GetObject", "The role is not authorized.", DENIED),
        ("perform: s3:GetObject", "The action that was denied.", DENIED),
        ("No space left on device", "The disk is full.", FULL),
        ("used=512 MB", "All 512 MB are used.", FULL),
    ],
)
def test_an_honest_part_of_a_line_is_let_through(quote: str, sentence: str, there: str) -> None:
    assert list(cut_quote(a_pointer(quote, sentence), there)) == []


def test_words_of_quantity_fit_the_number() -> None:
    assert list(miscounted(a_pointer(31, "More than three thousand errors.", claim=Claim.COUNT)))
    assert list(miscounted(a_pointer(1284, "A handful of throttles, about 12.", claim=Claim.COUNT)))
    assert list(miscounted(a_pointer("31 errors", "31 errors.", claim=Claim.COUNT)))
    assert list(miscounted(a_pointer(1284, "1,284 throttles against 2 invocations.", claim=Claim.COUNT))) == []


def test_every_meaning_has_samples_that_hold() -> None:
    assert says("allows", "The policy allows it.")
