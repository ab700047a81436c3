"""Keeps LangChain from sending prompts to anybody: what it would do by environment variables is switched off.

LangSmith and other tracers start by themselves when a variable names them. Prompts hold log lines and policies of an
account, so nobody but the chat model may get them.
"""

import os
import sys
from typing import Any, cast

_PREFIXES = ("LANGCHAIN_", "LANGSMITH_")


def switch_off_tracing() -> None:
    """Removes every variable by which a tracer could be switched on, also from what is remembered of them."""
    for name in [name for name in os.environ if name.startswith(_PREFIXES)]:
        del os.environ[name]
    langsmith = sys.modules.get("langsmith.utils")
    if langsmith is not None:
        cast("Any", langsmith).get_env_var.cache_clear()
