"""The extras of the package: what each one brings, and what it gives. Errors and `affidavit doctor` read this table."""

from dataclasses import dataclass
from importlib.util import find_spec

from affidavit.errors import InputRefused


@dataclass(frozen=True, kw_only=True)
class Extra:
    """`beside` are the extras without which it gives nothing."""

    name: str
    modules: tuple[str, ...]
    gives: str
    beside: tuple[str, ...] = ()

    @property
    def install_line(self) -> str:
        return f"pip install 'affidavit[{','.join((*self.beside, self.name))}]'"

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(module for module in self.modules if not _is_there(module))


EXTRAS = (
    Extra(name="aws", modules=("boto3", "botocore"), gives="bundles, functions and incidents of an AWS account"),
    Extra(
        name="agent",
        modules=("langgraph", "langchain_core", "langchain_aws"),
        gives="diagnoses, by rules or by a chat model of Bedrock",
    ),
    Extra(name="anthropic", modules=("langchain_anthropic",), gives="chat models of Anthropic", beside=("agent",)),
    Extra(
        name="openai",
        modules=("langchain_openai",),
        gives="chat models of OpenAI, Azure, vLLM and gateways",
        beside=("agent",),
    ),
    Extra(name="google", modules=("langchain_google_genai",), gives="chat models of Google", beside=("agent",)),
    Extra(
        name="ollama",
        modules=("langchain_ollama",),
        gives="chat models that run on your own machine",
        beside=("agent",),
    ),
    Extra(name="console", modules=("jinja2", "authlib"), gives="the console in a browser"),
    Extra(name="kubernetes", modules=("kubernetes",), gives="node state, and bundles of nodes without SSM"),
    Extra(name="fleet", modules=("duckdb", "pyarrow"), gives="questions over many nodes, in SQL"),
    Extra(
        name="sandbox",
        modules=("ministack",),
        gives="an AWS on this machine: the demo and `affidavit sandbox`",
        beside=("agent", "aws"),
    ),
    Extra(name="telemetry", modules=("opentelemetry.sdk",), gives="traces and metrics over OTLP"),
)


def extra_with(module: str) -> Extra | None:
    """The extra that brings a module."""
    top = module.partition(".")[0]
    return next((extra for extra in EXTRAS if top in {name.partition(".")[0] for name in extra.modules}), None)


def need_extras(*names: str) -> None:
    """Ask for all that a command needs before it starts, not for one after the other. Raises InputRefused."""
    absent = [extra.name for extra in EXTRAS if extra.name in names and extra.missing]
    if absent:
        listed = ", ".join(f"`{name}`" for name in absent)
        word = "extra" if len(absent) == 1 else "extras"
        raise InputRefused(
            f"this command needs the {word} {listed}", hint=f"pip install 'affidavit[{','.join(absent)}]'"
        )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # The package around it is missing.
        return False
