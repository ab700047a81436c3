"""Checks what a chat model needs before it is made: the package, the key, the parameters."""

import os
from importlib import import_module
from typing import Any

from affidavit.agent.chat.providers.provider import ChatProvider
from affidavit.agent.errors import ChatKeyMissing, ChatModelRefused
from affidavit.settings import Settings


def integration(module: str, provider: ChatProvider) -> Any:
    """LangChain's own package for this provider. Raises ChatModelRefused when it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        package = (error.name or module).replace("_", "-")
        raise ChatModelRefused(
            f"the provider {provider.value!r} needs the Python package {package!r}, which is not installed",
            hint=f"install the extra: pip install 'affidavit[agent,{provider}]'; or set CHAT_PROVIDER=offline",
        ) from error


def key_of(settings: Settings, provider: ChatProvider, *variables: str) -> str:
    """CHAT_API_KEY, else the provider's own variable. Raises ChatKeyMissing."""
    found = settings.chat_api_key or next((os.environ[name] for name in variables if os.environ.get(name)), "")
    if not found:
        raise ChatKeyMissing(
            f"there is no key for the provider {provider.value!r}",
            hint=f"set CHAT_API_KEY or {variables[0]}, or CHAT_PROVIDER=offline to do without a chat model",
        )
    return found


def sampling(settings: Settings) -> dict[str, Any]:
    """Nothing unless it was asked for: newer chat models refuse a temperature."""
    return {} if settings.chat_temperature is None else {"temperature": settings.chat_temperature}
