"""What the agent knows of a provider: how its chat model is made, what its errors mean, what it can do."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from affidavit.agent.errors import ChatModelFailed
from affidavit.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
MAX_OUTPUT_TOKENS = 4096


class ChatProvider(StrEnum):
    BEDROCK = "bedrock"
    OFFLINE = "offline"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    GOOGLE = "google"
    OLLAMA = "ollama"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """`make` touches no network, and raises ChatModelRefused when a setting or a package is missing. `failure` says in
    our words what the provider's own client raised."""

    name: str
    make: "Callable[[Settings], BaseChatModel]"
    failure: Callable[[Exception], ChatModelFailed]
    can_force_tool: bool = True
    """Whether it can be told which tool to call. Those that cannot are asked in words alone."""
    needs_model_id: bool = True
    has_keys: bool = True
    """Whether its failures can be about a key or credentials."""
