"""The catalog of failures: every sample behaves, and texts that look alike are told apart."""

import pytest

from affidavit.workloads.failures import called_system, failure_kinds, matches


def test_every_kind_has_an_id_of_its_own() -> None:
    ids = [kind.id for kind in failure_kinds()]
    assert len(ids) == len(set(ids)) >= 50


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("An error occurred (AccessDeniedException) when calling the GetItem operation: not authorized", "denied"),
        ("An error occurred (AccessDeniedException) when calling: You don't have access to the model", "model-access"),
        ("User: anonymous is not authorized to perform: es:ESHttpPost", "aws-no-credentials"),
        ("Request failed with status code 403", "http-4xx"),
        (
            "TransportError(429, 'blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark')",
            "search-disk-full",
        ),
        ("429 Client Error: Too Many Requests for url: https://geo.example", "third-party-429"),
        ("java.lang.OutOfMemoryError: unable to create native thread", "threads"),
        ("java.lang.OutOfMemoryError: Java heap space", "heap"),
        ("psycopg2.OperationalError: FATAL:  remaining connection slots are reserved", "no-connections"),
        ('FATAL:  password authentication failed for user "app"', "database-login"),
        ("connect ECONNREFUSED 10.20.7.15:6379", "refused"),
        ("connect ETIMEDOUT 10.20.7.15:6379", "unreachable"),
        ("Read timed out. (read timeout=10)", "answers-late"),
        ("certificate verify failed: certificate has expired", "certificate"),
        ("KeyError: 'tenant_id'", "language-error"),
        ("failed to refresh cached credentials, no EC2 IMDS role found", "aws-no-credentials"),
        # What a provider passes on says more than its own words.
        ("failed to refresh cached credentials: is not authorized to perform: sts:AssumeRole", "denied"),
        ("Model access is denied: not authorized to perform the required AWS Marketplace actions", "denied"),
    ],
)
def test_texts_that_look_alike_are_told_apart(text: str, kind: str) -> None:
    assert next(matches(text)).kind.id == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # Libraries raise these for many reasons; the name alone is a weak sign.
        ("ValueError: Invalid header value", "language-error-by-name"),
        ("java.lang.IllegalStateException: Failed to load ApplicationContext", "language-error-by-name"),
        ("panic: rates for CAD are older than a day", "panic-in-its-own-words"),
        ("java.lang.ExceptionInInitializerError", "named-static-start"),
        # Whether the other side was reached at all, these do not say.
        ("AxiosError: timeout of 5000ms exceeded", "late-or-unreached"),
        ("rpc error: context deadline exceeded", "late-or-unreached"),
        ("TypeError: fetch failed", "no-server"),
        ("Error: timeout exceeded when trying to connect", "no-server"),
        ("KnexTimeoutError: Knex: Timeout acquiring a connection. The pool is probably full.", "no-connection-got"),
        ("CommunicationsException: Communications link failure", "database-lost"),
        # Ours, or the other side's.
        ("unable to get local issuer certificate", "certificate-not-trusted"),
        ("jwt expired", "token-of-somebody"),
        ("request failed\nstatusCode: 500", "server-error-bare"),
        ("connect ECONNREFUSED 127.0.0.1:2773", "refused-locally"),
        ("cannot execute INSERT in a read-only transaction", "read-only-replica"),
    ],
)
def test_words_that_may_mean_something_else_are_never_sure(text: str, kind: str) -> None:
    found = next(matches(text)).kind
    assert (found.id, found.is_sure) == (kind, False)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("TypeError: cache.get is not a function", "code_error"),
        ("ReferenceError: ORDER_STATUS is not defined", "code_error"),
        ('psycopg2.errors.SyntaxError: syntax error at or near "FROM"', "code_error"),
        ("SyntaxError: Invalid or unexpected token", "startup"),
        ("ActiveRecord::ConnectionNotEstablished: connection to server failed", "dependency"),
    ],
)
def test_words_inside_other_words_are_no_sign(text: str, fault: str) -> None:
    assert next(matches(text)).kind.fault.value == fault
    assert next(matches("CsvImportError: row 7 has 3 columns"), None) is None
    assert next(matches("ModelLoadError: weights of v7 are damaged"), None) is None


def test_a_cause_names_what_the_text_names_and_leaves_out_what_it_does_not() -> None:
    named = next(matches("connect ECONNREFUSED 10.20.7.15:6379"))
    assert named.says == "the called host 10.20.7.15:6379 refuses the connection: it answers, and nothing listens there"
    bare = next(matches("java.net.ConnectException: Connection refused"))
    assert bare.says == "the called host refuses the connection: it answers, and nothing listens there"


def test_the_called_system_is_known_by_its_client_and_by_no_longer_word() -> None:
    assert called_system(["invalid_grant", '  File "/var/task/salesforce.py", line 240']) == "Salesforce"
    assert called_system(["org.apache.kafka.common.errors.TimeoutException"]) == "Kafka"
    assert called_system(["slackline and vaulting"]) is None
