"""Looks at this installation: the engine, the extras, the rules, and where data is kept."""

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from affidavit import __version__
from affidavit.entrypoints.package_extras import EXTRAS, Extra
from affidavit.errors import AffidavitError
from affidavit.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Observation:
    """`advice` says what to do; a thing that nobody has to have can be missing without harm."""

    name: str
    said: str
    is_there: bool = True
    is_needed: bool = False
    advice: str = ""

    @property
    def is_wrong(self) -> bool:
        return self.is_needed and not self.is_there


def installation() -> Iterator[Observation]:
    yield Observation(
        name="affidavit", said=f"{__version__} on Python {platform.python_version()}, {platform.platform()}"
    )
    yield _engine()
    yield _rules()
    yield _data()
    yield from map(_extra, EXTRAS)


def _engine() -> Observation:
    try:
        return Observation(name="engine", said=f"Hyperscan {version('hyperscan')}, meaning by RE2")
    except PackageNotFoundError:
        return Observation(
            name="engine",
            said="RE2 alone: the same findings, several times slower",
            is_there=False,
            advice="pip install hyperscan, where it has a wheel for this platform",
        )


def _rules() -> Observation:
    from affidavit.knowledge import load_knowledge

    try:
        knowledge = load_knowledge()
    except AffidavitError as error:
        return Observation(
            name="rules", said=str(error), is_there=False, is_needed=True, advice="install affidavit again"
        )
    return Observation(name="rules", said=f"{len(knowledge.pack.rules)} rules, {len(knowledge.checks)} checks")


def _data() -> Observation:
    settings = Settings.from_environment()
    if settings.is_local:
        return Observation(name="data", said=f"{settings.data_dir} on this machine (LOGS_BUCKET is not set)")
    return Observation(name="data", said=f"bucket {settings.logs_bucket}, region {settings.region}")


def _extra(extra: Extra) -> Observation:
    missing = extra.missing
    if not missing:
        return Observation(name=extra.name, said=extra.gives)
    return Observation(
        name=extra.name,
        said=f"not installed; gives {extra.gives}",
        is_there=False,
        advice=extra.install_line,
    )
