"""Tries the chat model that is set up, also where its library is not installed."""

from dataclasses import dataclass

from affidavit.entrypoints.package_extras import extra_with
from affidavit.settings import Settings


@dataclass(frozen=True, kw_only=True)
class TrialVerdict:
    """What one real tool call showed. `advice` says what to do about it."""

    is_good: bool
    said: str
    advice: str


def tried_model(settings: Settings) -> TrialVerdict:
    """Asks for one tool call; a few hundred tokens, nothing of an incident."""
    try:
        from affidavit.agent.chat.trial import try_chat_model
    except ModuleNotFoundError as error:
        extra = extra_with(error.name or "")
        advice = extra.install_line if extra is not None else "the server of the console lacks it"
        return TrialVerdict(is_good=False, said=f"{error.name} is not installed here", advice=advice)
    trial = try_chat_model(settings)
    return TrialVerdict(is_good=trial.is_good, said=trial.said, advice=trial.advice)
