"""`affidavit doctor model`: one real tool call, and words for what is wrong."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.peers.chat_wires import WIRES, ScriptedService, Turn
from tests.support.peers.http_peer import Answer, a_peer, self_signed

from affidavit.agent.chat.trial import ModelTrial, try_chat_model
from affidavit.agent.limits import Patience
from affidavit.agent.tool_specifications import SUBMIT
from affidavit.errors import InputRefused
from affidavit.settings import Settings

OPENAI = WIRES["openai"]


def trial(script: Any, wire: str = "openai", patience: Patience | None = None, **more: str) -> ModelTrial:
    with a_peer(respond=ScriptedService(WIRES[wire], script)) as peer:
        return tried(CHAT_PROVIDER=wire, CHAT_BASE_URL=peer.url, patience=patience, **more)


def tried(patience: Patience | None = None, **given: str) -> ModelTrial:
    settings = {"CHAT_MODEL_ID": "model-x", "CHAT_API_KEY": "k", **given}
    return try_chat_model(Settings.from_environment(settings), patience)


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_a_model_that_calls_the_tool_works(wire: str) -> None:
    found = trial(lambda _: Turn(calls=[(SUBMIT, {"word": "affidavit"})]), wire)
    assert found.is_good
    assert "460 tokens" in found.said


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "make a new key"),
        (403, "may not use this model"),
        (404, "no such model or address"),
        (429, "quota"),
        (500, "trouble of its own"),
        (400, "may not support tools"),
    ],
)
def test_what_the_provider_answers_becomes_advice(status: int, advice: str) -> None:
    found = trial(lambda _: OPENAI.refuses(status))
    assert not found.is_good
    assert advice in found.advice
    assert "openai model-x" in found.said


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (Turn(text="Sure! affidavit"), "in words"),
        (Turn(), "with nothing"),
        (Turn(text="no", stop="content_filter"), "refused"),
        (Turn(text="I", stop="length"), "cut off"),
        (Turn(calls=[(SUBMIT, {})], raw_arguments='{"wo'), "cannot be read"),
        (Turn(calls=[("other_tool", {})]), "does not exist"),
    ],
)
def test_a_model_that_does_not_call_the_tool_is_told_by_what_it_did(turn: Turn, said: str) -> None:
    found = trial(lambda _: turn)
    assert not found.is_good
    assert said in found.said
    assert "CHAT_MODEL_ID" in found.advice


def test_nobody_at_the_address_is_told() -> None:
    with a_peer() as peer:
        url = peer.url
    assert "nobody answers there" in tried(CHAT_PROVIDER="openai", CHAT_BASE_URL=url).advice


def test_a_server_that_hangs_is_told() -> None:
    found = trial(lambda _: Answer(hang=True), patience=Patience(reply=0.5))
    assert "in time" in found.advice


def test_a_web_page_instead_of_an_interface_is_told() -> None:
    page = Answer(body=b"<html>Welcome</html>", headers={"content-type": "text/html"})
    found = trial(lambda _: page)
    assert not found.is_good
    assert "CHAT_BASE_URL" in found.advice


def test_a_certificate_that_cannot_be_trusted_is_told(tmp_path: Path) -> None:
    with a_peer(certificate=self_signed(tmp_path)) as peer:
        found = tried(CHAT_PROVIDER="openai", CHAT_BASE_URL=peer.url)
    assert "certificate" in found.advice


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"CHAT_PROVIDER": "acme"}, "no provider"),
        ({"CHAT_PROVIDER": "openai", "CHAT_MODEL_ID": ""}, "no chat model is named"),
        ({"CHAT_PROVIDER": "anthropic", "CHAT_API_KEY": ""}, "there is no key"),
    ],
)
def test_a_setting_that_is_missing_is_refused_before_anybody_is_asked(
    given: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(InputRefused, match=said):
        tried(**given)


def test_a_package_that_is_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_ollama", None)
    with pytest.raises(InputRefused, match="not installed"):
        tried(CHAT_PROVIDER="ollama")


def test_the_command_says_it_in_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from affidavit.entrypoints.cli.main import app

    with a_peer(respond=ScriptedService(OPENAI, lambda _: OPENAI.refuses(401))) as peer:
        env = {"CHAT_PROVIDER": "openai", "CHAT_MODEL_ID": "m", "CHAT_API_KEY": "k", "CHAT_BASE_URL": peer.url}
        result = CliRunner().invoke(app, ["doctor", "model"], env=env)
    assert result.exit_code == 1
    assert result.output.startswith("✗ openai m: ")
    assert "make a new key" in result.output
