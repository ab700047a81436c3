"""What an operator can try from the settings page: the chat model with one tool call, a channel with one notice."""

from pathlib import Path

from tests.support.pages.console import served
from tests.support.peers.chat_wires import WIRES, ScriptedService, Turn
from tests.support.peers.http_peer import Answer, a_peer

from affidavit.agent.tool_specifications import SUBMIT


def test_the_chat_model_is_tried_with_one_tool_call_and_told_in_words(tmp_path: Path) -> None:
    service = ScriptedService(WIRES["openai"], lambda _: Turn(calls=[(SUBMIT, {"word": "affidavit"})]))
    with a_peer(respond=service) as peer:
        chat = {
            "CHAT_PROVIDER": "openai",
            "CHAT_BASE_URL": peer.url,
            "CHAT_MODEL_ID": "model-x",
            "CHAT_API_KEY": "key-1",
        }
        with served(tmp_path, **chat) as console:
            assert "model-x" in console.browser().get("/settings").text
            answer = console.post(console.browser(), "/settings/model").text
            assert "model-x called the tool (460 tokens)" in answer and "note holds" in answer
            assert len(peer.sent) == 1
            peer.respond, peer.answers = None, [Answer(status=401, body={"error": {"message": "bad key key-1"}})]
            answer = console.post(console.browser(), "/settings/model").text
            assert "make a new key" in answer and "note fallen" in answer
            assert [one.what for one in console.desk.actions.latest(2)] == ["tried the chat model"] * 2


def test_without_a_chat_model_or_with_half_of_its_settings_the_page_says_what_is_missing(tmp_path: Path) -> None:
    with served(tmp_path, CHAT_PROVIDER="offline") as console:
        assert "rules alone conclude" in console.post(console.browser(), "/settings/model").text
    with served(tmp_path, CHAT_PROVIDER="openai") as console:
        answer = console.post(console.browser(), "/settings/model")
        assert (answer.status_code, "CHAT_MODEL_ID" in answer.text) == (200, True)


def test_a_channel_gets_a_test_and_its_refusal_is_told(tmp_path: Path) -> None:
    with a_peer(Answer(), Answer(status=404)) as peer:
        channel = {"SLACK_WEBHOOK_URL": peer.url, "NOTICE_PRIVATE_HOSTS": "127.0.0.1"}
        with served(tmp_path, **channel) as console:
            taken = console.post(console.browser(), "/settings/channel", channel="slack-webhook").text
            refused = console.post(console.browser(), "/settings/channel", channel="slack-webhook").text
            unknown = console.post(console.browser(), "/settings/channel", channel="pigeon")
    assert "took the test notice" in taken and b"nothing happened" in peer.sent[0].body
    assert "answered 404" in refused and "make a new one" in refused
    assert unknown.status_code == 404
