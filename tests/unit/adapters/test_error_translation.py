"""Foreign errors become ours, and AWS's text, which quotes policies, stays behind."""

import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ReadTimeoutError

from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import AffidavitError, Conflict, InputRefused, NotFound, Throttled, UpstreamFailed

LEAK = "User: arn:aws:sts::123456789012:assumed-role/x is not authorized because of policy p-123"


def translate(code: str, status: int = 400) -> AffidavitError:
    answer = {"Error": {"Code": code, "Message": LEAK}, "ResponseMetadata": {"HTTPStatusCode": status}}
    with pytest.raises(AffidavitError) as caught, translated("table t"):
        raise ClientError(answer, "PutItem")
    return caught.value


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ThrottlingException", 400, Throttled),
        ("SlowDown", 503, Throttled),
        ("Whatever", 429, Throttled),
        ("NoSuchKey", 404, NotFound),
        ("404", 404, NotFound),
        ("ResourceNotFoundException", 400, NotFound),
        ("IdempotentParameterMismatch", 400, Conflict),
        ("InvalidParameterValue", 400, InputRefused),
        ("AccessDenied", 403, UpstreamFailed),
        ("NoSuchBucket", 404, UpstreamFailed),
        ("InternalError", 500, UpstreamFailed),
    ],
)
def test_each_code_becomes_one_of_our_errors_without_its_text(
    code: str, status: int, kind: type[AffidavitError]
) -> None:
    error = translate(code, status)
    assert type(error) is kind
    assert "arn:" not in f"{error} {error.hint}"
    assert "table t" in str(error)
    assert error.hint


def test_only_what_may_pass_is_retryable() -> None:
    retryable = {
        code: getattr(translate(code, status), "is_retryable", False)
        for code, status in (("InternalError", 500), ("AccessDenied", 403), ("Odd", 400), ("Throttling", 400))
    }
    assert retryable == {"InternalError": True, "AccessDenied": False, "Odd": False, "Throttling": True}


def test_a_timeout_is_retryable_and_missing_credentials_are_not() -> None:
    with pytest.raises(UpstreamFailed) as slow, translated("x"):
        raise ReadTimeoutError(endpoint_url="http://127.0.0.1")
    assert slow.value.is_retryable
    with pytest.raises(UpstreamFailed, match="credentials") as nobody, translated("x"):
        raise NoCredentialsError
    assert not nobody.value.is_retryable
