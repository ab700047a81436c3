"""Secrets behind escapes, inside base64, across lines and without their names; and what must stay readable."""

import base64
import gzip
import json
from random import Random
from urllib.parse import quote

import pytest
from tests.support.each import for_each

from affidavit.redaction.redact import Around, Redactor
from affidavit.redaction.unescaped import ESCAPE, escapes

SECRET = "Ex4mple!Word9"
HARMLESS = "nothing to hide here"
BODY = ["MIIEpAIBAAKCAQEA" + "exampleEXAMPLE01" * 3, "Abc0exampleEXAM/" * 4, "Zq9="]
PEM = "\n".join(["-----BEGIN RSA PRIV" + "ATE KEY-----", *BODY, "-----END RSA PRIV" + "ATE KEY-----"])

NAMES = ["DB_PASSWORD", "password", "spring.datasource.password", "adminPassword", "AWS_SECRET_ACCESS_KEY", "api_token"]
SHAPES = {
    "env": "{n}={v}",
    "yaml": "{n}: {v}",
    "json": '{{"{n}":"{v}"}}',
    "json in json": '{{"m":"{{\\"{n}\\":\\"{v}\\"}}"}}',
    "python": "{{'{n}': '{v}'}}",
    "python bytes": "{n}=b'{v}'",
    "tuple": "[('{n}', '{v}')]",
    "ruby": '{{:{n}=>"{v}"}}',
    "php": '["{n}"]=>\n  string(13) "{v}"',
    "php serialised": 's:9:"{n}";s:13:"{v}";',
    "name and value": '{{"name":"{n}","value":"{v}"}}',
    "value and name": '{{"value":"{v}","name":"{n}"}}',
    "go struct": "EnvVar{{Name:{n},Value:{v},ValueFrom:nil,}}",
    "yaml list": "- name: {n}\n  value: {v}\n",
    "xml element": "<{n}>{v}</{n}>",
    "xml attribute": '<add key="{n}" value="{v}" />',
    "xml property": '<property name="{n}">{v}</property>',
    "table": "|  {n}  |  {v}  |",
    "nested": '{{"{n}":{{"value":"{v}"}}}}',
    "rust": '{n}: Some("{v}")',
    "next line": "{n}:\n  {v}\n",
    "block": "{n}: |\n  {v}\n",
    "coloured": "\x1b[36m{n}\x1b[0m=\x1b[33m{v}\x1b[0m",
    "unicode escapes": "{{\\u0022{n}\\u0022:\\u0022{v}\\u0022}}",
    "hex escapes": "\\x22{n}\\x22:\\x22{v}\\x22",
    "percent": "%22{n}%22%3A%22{v}%22",
    "percent twice": "%2522{n}%2522%253A%2522{v}%2522",
    "entities": "&quot;{n}&quot;:&quot;{v}&quot;",
}


def hidden(text: str, secret: str = SECRET) -> bool:
    return secret not in Redactor().secrets(text).text


@pytest.mark.parametrize("shape", SHAPES)
@for_each("name", NAMES)
def test_a_named_secret_is_hidden_however_it_is_written(name: str, shape: str) -> None:
    secret = SECRET + "abcdef0123"
    assert hidden(SHAPES[shape].format(n=name, v=secret), secret)


def test_there_are_enough_shapes() -> None:
    assert len(NAMES) * len(SHAPES) >= 150


PREFIXES = {
    "none": "",
    "indented": "      ",
    "syslog": "Jan 01 10:00:00 ip-10-0-1-2 cloud-init[4664]: ",
    "rfc 5424": "<13>1 2026-01-01T10:00:00.1Z ip-10-0-1-2 sshd 311 - - ",
    "cri": "2026-01-01T10:00:00.123456789Z stdout F ",
    "klog": "I0101 10:00:00.000000    3021 server.go:12] ",
    "kernel": "[ 8123.551000] app: ",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_a_private_key_is_hidden_behind_any_prefix_and_the_prefix_stays(prefix: str) -> None:
    text = "\n".join(f"{prefix}{line}" for line in ["before", *PEM.split("\n"), "behind"])
    redacted = Redactor().secrets(text).text
    assert all(line not in redacted for line in BODY)
    assert redacted.split("\n")[0] == f"{prefix}before" and redacted.split("\n")[-1] == f"{prefix}behind"
    assert prefix.strip() in redacted.split("\n")[2]


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("kept", [slice(1, None), slice(None, -1), slice(1, -1)], ids=["no head", "no end", "middle"])
def test_a_private_key_without_its_marks_is_hidden(prefix: str, kept: slice) -> None:
    text = "\n".join(f"{prefix}{line}" for line in PEM.split("\n")[kept])
    assert all(line not in Redactor().secrets(text).text for line in BODY)


def test_one_line_of_a_private_key_is_hidden_alone() -> None:
    for prefix in PREFIXES.values():
        assert hidden(prefix + BODY[0], BODY[0])


def test_a_private_key_in_the_log_of_a_container_is_hidden() -> None:
    text = "\n".join(json.dumps({"log": line + "\n", "stream": "stdout"}) for line in PEM.split("\n"))
    assert all(line not in Redactor().secrets(text).text for line in BODY)


def test_a_key_between_lines_of_another_program_is_hidden_and_those_stay() -> None:
    lines = PEM.split("\n")
    redacted = Redactor().secrets("\n".join([*lines[:2], "INFO healthz ok", *lines[2:]])).text
    assert "INFO healthz ok" in redacted
    assert all(line not in redacted for line in BODY)


def test_certificates_and_public_keys_stay() -> None:
    for kind in ("CERTIFICATE", "PUBLIC KEY", "CERTIFICATE REQUEST"):
        text = "\n".join([f"-----BEGIN {kind}-----", *BODY[1:], f"-----END {kind}-----"])
        assert Redactor().secrets(text).text == text


def test_a_key_that_the_end_of_the_text_cuts_shows_nothing_of_its_last_line() -> None:
    head = PEM.partition(BODY[1])[0]
    for size in range(1, len(BODY[1])):
        assert (
            not Redactor()
            .secrets(head + BODY[1][:size], Around(is_cut=True))
            .text.rstrip("\n")
            .endswith(BODY[1][:size])
        )


def encodings(text: str) -> dict[str, str]:
    raw = text.encode()
    return {
        "once": base64.b64encode(raw).decode(),
        "twice": base64.b64encode(base64.b64encode(raw)).decode(),
        "url safe": base64.urlsafe_b64encode(raw).decode().rstrip("="),
        "wrapped": base64.encodebytes(raw).decode(),
        "compressed": base64.b64encode(gzip.compress(raw, mtime=0)).decode(),
        "compressed, twice": base64.b64encode(base64.b64encode(gzip.compress(raw, mtime=0))).decode(),
        "escaped": quote(base64.b64encode(raw).decode(), safe=""),
    }


USER_DATA = f"#!/bin/bash\nset -e\nexport DB_PASSWORD={SECRET}\n/etc/eks/bootstrap.sh prod\n"


@pytest.mark.parametrize("how", encodings(""))
def test_user_data_with_a_secret_is_hidden_whatever_encodes_it(how: str) -> None:
    blob = encodings(USER_DATA)[how]
    redacted = Redactor().secrets(f'{{"UserData":{{"Value":"{blob}"}},"InstanceId":"i-0"}}').text
    assert blob.strip()[:40] not in redacted and "InstanceId" in redacted


@pytest.mark.parametrize("how", encodings(""))
def test_encoded_text_without_a_secret_stays(how: str) -> None:
    text = f'{{"data":"{encodings(HARMLESS * 5)[how]}"}}'
    assert Redactor().secrets(text).text == text


def test_a_command_line_that_the_kernel_wrote_in_hexadecimal_is_hidden() -> None:
    said = f"mysql\0-uroot\0-p{SECRET}".encode().hex().upper()
    assert hidden(f"type=PROCTITLE msg=audit(1.2:3): proctitle={said}", said)
    assert hidden(f'type=EXECVE argc=3 a0="vault" a1="--token" a2="{SECRET}"')
    said = b"/usr/bin/kubelet\0--config\0/etc/kubelet.json".hex().upper()
    assert not hidden(f"type=PROCTITLE msg=audit(1.2:3): proctitle={said}", said)


def test_a_secret_that_the_container_runtime_split_is_hidden_in_both_parts() -> None:
    stamp = "2026-01-01T10:00:00.123456789Z stdout"
    text = f"{stamp} P token=EXAMPLE0123456789\n{stamp} F abcdefEXAMPLE9 mode=x"
    redacted = Redactor().secrets(text).text
    assert "EXAMPLE0123456789" not in redacted and "abcdefEXAMPLE9" not in redacted and "mode=x" in redacted


def test_a_secret_is_hidden_again_where_it_has_no_name() -> None:
    redacted = Redactor().secrets(f"DB_PASSWORD={SECRET}\nlater: cannot use {SECRET} here\n").text
    assert SECRET not in redacted and "cannot use" in redacted


def test_an_ordinary_word_that_was_a_password_is_kept_elsewhere() -> None:
    assert Redactor().secrets("password=production\nnamespace production").text.endswith("namespace production")


def test_both_passwords_of_one_query_are_hidden() -> None:
    redacted = Redactor().secrets("old_password=Ex4mple1&new_password=Hunter2x&user=ann").text
    assert redacted == "old_password=[REDACTED:password]&new_password=[REDACTED:password]&user=ann"


ORDINARY = [
    'secret "default-token-7k2lq" not found',
    "sudo[1]: ec2-user : TTY=pts/0 ; PWD=/home/ec2-user ; USER=root ; COMMAND=/bin/cat /etc/passwd",
    "token_type=Bearer expires_in=3600",
    "  --password string    password for basic auth",
    "curl -u $USER:$PASS https://nexus.example",
    "annotations.checksum/secret=15726184d7ce64a67ba3d0a093df48fd9b2895f89ba86fdbd0cf5eaf73e05360",
    "Fetching secret arn:aws:secretsmanager:eu-west-1:111122223333:secret:prod/orders/db-9IScHN",
    "pam_unix(passwd:chauthtok): password changed for ec2-user",
    "password: {{ .Values.postgresql.password | b64enc }}",
    "image nginx:1.25@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "KUBE-SEP-ABCDEFGHIJKLMNOP -s 10.0.1.2/32 -m comment --comment default/kubernetes:https",
    "prompt_tokens=120 completion_tokens=33 total_tokens=153",
    "{'PWD': '/var/task'}",
]


@for_each("line", ORDINARY)
def test_an_ordinary_line_stays_as_it_is(line: str) -> None:
    assert Redactor().secrets(line).text == line


HOSTILE = {
    "names": "password=" * 60_000,
    "placeholders": "password=<" * 60_000,
    "quotes": 'password="' * 60_000,
    "escapes": "%22" * 200_000,
    "base64": "QUJDREVGR0hJSktMTU5P" * 30_000,
    "marks": ("-----BEGIN RSA PRIV" + "ATE KEY-----\n") * 15_000,
    "secrets": '{"kind":"Secret","data":{"a":"b"' * 20_000,
    "headers": "name,password\n" * 40_000,
    "backslashes": "\\" * 600_000,
    "one long word": "-----BEGIN RSA PRIV" + "ATE KEY-----\n" + "a" * 500_000,
    "keys of a map": "kind: Secret\ndata:\n" + "a:" * 300_000,
    "many secrets": "".join(f"password=Ex4mple{number}\n" for number in range(20_000)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_redacted_to_its_end(text: str) -> None:
    """Half a megabyte of the worst takes a second or two; were it quadratic, it would take hours."""
    assert SECRET not in Redactor().secrets(f"{text}\nDB_PASSWORD={SECRET}\n").text


IDS = "".join(f"pulled sha256:{number:064x} for pod-{number}\n" for number in range(3000))


@pytest.mark.parametrize("behind", ["\n" + IDS, "\n", ""])
def test_a_line_of_a_key_and_encoded_text_are_found_among_thousands_of_digests(behind: str) -> None:
    coded = base64.b64encode(f"#!/bin/sh\nexport DB_PASSWORD={SECRET}\n".encode()).decode()
    assert hidden(f"{IDS}{BODY[0]}{behind}", BODY[0])
    assert hidden(f"{IDS}id sha256:{7:064x} user data {coded}{behind}", coded)
    assert not Redactor().secrets(IDS).counts


def test_many_runs_on_one_line_hide_no_more_than_the_encoded_secret() -> None:
    coded = base64.b64encode(f"export DB_PASSWORD={SECRET} and more".encode()).decode()
    line = " ".join([*(f"Zz{number:032d}" for number in range(2000)), coded, "end"])
    told = Redactor().secrets(line).text
    assert (coded in told, told.endswith("end"), told.count("REDACTED")) == (False, True, 1)


def test_escapes_are_found_where_a_search_at_every_byte_finds_them() -> None:
    chance = Random(7)
    pieces = [b"a", b"\n", b"%41", b"\\u0041", b"x41", b"/", b"&amp;", b"&#65;", b"\x1b[1m", b"%", b"\x1b"]
    for _ in range(500):
        parts = [chance.choice([*pieces, b"\\" * chance.randrange(1, 16)]) for _ in range(30)]
        text = b"".join(parts)
        assert [each.span() for each in escapes(text)] == [each.span() for each in ESCAPE.finditer(text)]
