"""Asks a chat model for its opinion on repairs, by one tool call each. What it says beyond that is not read."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage

from affidavit.agent.chat.next_reply import Replies
from affidavit.agent.chat.providers.provider import Provider
from affidavit.agent.limits import Patience
from affidavit.agent.prompt_messages import fenced
from affidavit.errors import AffidavitError
from affidavit.redaction.redact import Redactor

LONGEST_TEXT = 20_000
MOST_OBJECTIONS, LONGEST_OBJECTION = 5, 300
_LOG = logging.getLogger(__name__)
_CHOOSE = (
    "A fault was diagnosed, and these repairs would each put something back. Call choose_repairs with the numbers of "
    "those that repair this cause, in the order in which they should be made. You cannot change a repair or add one."
)
_OBJECT = (
    "Review this plan of repairs before people are asked to approve it. Call object_to_plan with each reason why it "
    "would do harm or would not repair the cause; with an empty list when you know none. You cannot change the plan."
)


class ChatRepairAdviser:
    """What `remediation` calls a `RepairAdviser`, which what reads must not import."""

    def __init__(self, chat: BaseChatModel, provider: Provider, patience: Patience | None = None) -> None:
        self._chat, self._provider, self._patience = chat, provider, patience or Patience()

    def chosen(self, cause: str, candidates: Sequence[str]) -> Sequence[int]:
        listed = "\n".join(f"{number}: {one}" for number, one in enumerate(candidates))
        told = f"{_CHOOSE}\n{_data('cause', cause)}\n{_data('repairs', listed)}"
        said = self._called(told, "choose_repairs", {"type": "integer"})
        return [one for one in said if isinstance(one, int) and not isinstance(one, bool)]

    def objections(self, plan: str) -> Sequence[str]:
        said = self._called(f"{_OBJECT}\n{_data('plan', plan)}", "object_to_plan", {"type": "string"})
        return [str(one)[:LONGEST_OBJECTION] for one in said if one][:MOST_OBJECTIONS]

    def _called(self, told: str, name: str, item: dict[str, str]) -> list[Any]:
        """The one list that the tool takes; empty when the chat model failed or said something else."""
        schema = {"type": "object", "properties": {"answer": {"type": "array", "items": item}}, "required": ["answer"]}
        tool = {"type": "function", "function": {"name": name, "description": "Your opinion", "parameters": schema}}
        try:
            replies = Replies(self._chat, self._patience, [tool], self._provider)
            reply = asyncio.run(replies.reply([HumanMessage(told)], must_submit=False))
        except AffidavitError as error:
            _LOG.warning("the chat model has no opinion on repairs: %s", error)
            return []
        answers = [call["args"].get("answer") for call in reply.tool_calls if call["name"] == name]
        return cast("list[Any]", answers[0]) if answers and isinstance(answers[0], list) else []


def _data(label: str, text: str) -> str:
    return fenced(label, Redactor().redact(text).text[:LONGEST_TEXT])
