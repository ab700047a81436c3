"""Settings and options → calls that can be served."""

import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from affidavit.bootstrap import App, build_app, build_library
from affidavit.collection.tool_dependencies import Desk
from affidavit.entrypoints.collection_wiring import build_desk
from affidavit.entrypoints.mcp.bundles_folder import KEPT_IN, BundleFolder
from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.services import Services, Shelves
from affidavit.entrypoints.mcp.tools.catalog import tools_of
from affidavit.entrypoints.mcp.tools.tool import Toolset
from affidavit.errors import InputRefused
from affidavit.redaction.batched_detection import PersonalDataInquiry
from affidavit.redaction.redact import Redactor
from affidavit.settings import Settings

# What is imported by a function below would make the server slow to start; only some of it is needed, and later.
if TYPE_CHECKING:
    from affidavit.workloads.questions import Workloads


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the command line asks for. `toolsets` is None when it says nothing."""

    bundles: Path | None = None
    toolsets: frozenset[Toolset] | None = None


def build_calls(settings: Settings, wish: Wish) -> Calls:
    """Raises InputRefused when the wish cannot be met. Touches no network."""
    return calls_of(build_app(_placed(settings, wish)), wish)


def calls_of(app: App, wish: Wish) -> Calls:
    """As `build_calls`, over stores that are there already."""
    settings = app.settings
    toolsets = _toolsets(app, wish)
    redactor = _redactor(settings)
    return Calls(
        services=_services(app, wish, redactor),
        redactor=redactor,
        tools={tool.name: tool for tool in tools_of(toolsets)},
        allows_debug=settings.enable_debug_envelope,
    )


def _placed(settings: Settings, wish: Wish) -> Settings:
    if wish.bundles is None:
        return settings
    if not wish.bundles.is_dir():
        raise InputRefused(f"there is no folder {wish.bundles}", hint="give a folder that holds bundles")
    return settings.model_copy(update={"logs_bucket": "", "data_dir": wish.bundles / KEPT_IN})


def _toolsets(app: App, wish: Wish) -> frozenset[Toolset]:
    possible = {Toolset.NODES: "", Toolset.COLLECTION: _no_collection(app), Toolset.LAMBDA: _no_lambda(app)}
    if wish.toolsets is None:
        return frozenset(toolset for toolset, why_not in possible.items() if not why_not)
    for toolset in sorted(wish.toolsets):
        if possible[toolset]:
            raise InputRefused(f"the toolset {toolset} cannot be offered: {possible[toolset]}", hint="see docs/mcp.md")
    return wish.toolsets


def _no_collection(app: App) -> str:
    if app.settings.is_local:
        return "without LOGS_BUCKET there is no AWS to collect from"
    return "" if app.settings.enable_collection else "ENABLE_COLLECTION is not true"


def _no_lambda(app: App) -> str:
    return "without LOGS_BUCKET there is no AWS to look at" if app.settings.is_local else ""


def _services(app: App, wish: Wish, redactor: Redactor) -> Services:
    lock = threading.Lock()

    @cache
    def shelves() -> Shelves:
        library = build_library(app, redactor=redactor)
        folder = BundleFolder(path=wish.bundles, library=library) if wish.bundles is not None else None
        return Shelves(library=library, folder=folder)

    def once() -> Shelves:
        with lock:
            return shelves()

    return Services(state=app.state, clock=app.clock, shelves=once, desk=_desk(app), workloads=_workloads(app))


def _desk(app: App) -> Desk | None:
    if app.settings.is_local:
        return None
    return build_desk(app)


def _workloads(app: App) -> "Workloads | None":
    if app.settings.is_local:
        return None
    from affidavit.entrypoints.known_good_function_captures import build_captures
    from affidavit.workloads.questions import Workloads

    captures = build_captures(app)
    return Workloads(inspector=captures.inspector, clock=app.clock, functions=None, captures=captures)


def _redactor(settings: Settings) -> Redactor:
    if settings.enable_comprehend and not settings.enable_pii_redaction:
        raise InputRefused(
            "ENABLE_COMPREHEND is set without ENABLE_PII_REDACTION: Comprehend would be asked for nothing",
            hint="set ENABLE_PII_REDACTION=true as well, or unset ENABLE_COMPREHEND",
        )
    return Redactor(hides_personal=settings.enable_pii_redaction, inquiry=_inquiry(settings))


def _inquiry(settings: Settings) -> PersonalDataInquiry | None:
    if not settings.enable_comprehend:
        return None
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.comprehend import ComprehendDetector

    return PersonalDataInquiry(ComprehendDetector(AwsClients(settings.region)))
