"""`/settings`: what is configured, what is installed, channels with a test, sessions, and what people did here."""

from dataclasses import dataclass
from http import HTTPStatus

from starlette.responses import RedirectResponse, Response

from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.entrypoints.doctor.installation import installation
from affidavit.entrypoints.doctor.model_trial import TrialVerdict, tried_model
from affidavit.errors import AffidavitError, NotFound
from affidavit.incidents.notices.channel_test_notice import a_test_notice
from affidavit.settings import Settings

_ACTIONS = 30


@dataclass(frozen=True, kw_only=True)
class SettingRow:
    """For a secret, `value` says only whether it is set."""

    name: str
    value: str
    about: str
    is_default: bool


def show_settings(visit: Visit) -> Response:
    return visit.page(
        "settings.html",
        title="Settings",
        section=Section.SETTINGS,
        rows=_rows(visit.desk.app.settings),
        installed=list(installation()),
        channels=visit.desk.app.channels,
        told=visit.asked("told"),
        sessions=visit.desk.sessions.of(visit.person.name),
        actions=visit.desk.actions.latest(_ACTIONS),
    )


def test_channel(visit: Visit) -> Response:
    channel = next((one for one in visit.desk.app.channels if one.name == visit.field("channel")), None)
    if channel is None:
        raise NotFound("there is no such channel", hint="docs/notices.md says which settings make which channel")
    visit.note("tested a channel", channel.name)
    try:
        channel.notifier.notify(a_test_notice(visit.desk.app.clock.now()), earlier="")
    except AffidavitError as error:
        return visit.page(
            "settings_told.html", title="Test", section=Section.SETTINGS, channel=channel.name, problem=error
        )
    return visit.page("settings_told.html", title="Test", section=Section.SETTINGS, channel=channel.name, problem=None)


def test_model(visit: Visit) -> Response:
    """One real tool call, as `affidavit doctor model` makes it."""
    visit.note("tried the chat model")
    try:
        trial = tried_model(visit.desk.app.settings)
    except AffidavitError as error:
        trial = TrialVerdict(is_good=False, said=str(error), advice=error.hint)
    return visit.page("model_tried.html", title="Chat model", section=Section.SETTINGS, trial=trial)


def revoke_session(visit: Visit) -> Response:
    """Of the person's own sessions alone."""
    own = {session.handle for session in visit.desk.sessions.of(visit.person.name)}
    if visit.field("handle") not in own:
        raise NotFound("you have no such session", hint="it may have ended by itself")
    visit.desk.sessions.revoke(visit.field("handle"))
    visit.note("revoked a session")
    return RedirectResponse("/settings#sessions", HTTPStatus.SEE_OTHER)


def _rows(settings: Settings) -> list[SettingRow]:
    return [_row(settings, name) for name in Settings.model_fields]


def _row(settings: Settings, name: str) -> SettingRow:
    field, value = Settings.model_fields[name], getattr(settings, name)
    shown = str(value)
    if not field.repr or "key" in name or "secret" in name or "token" in name:
        shown = "set, not shown" if value else ""
    return SettingRow(
        name=field.alias or name,
        value=shown,
        about=field.description or "",
        is_default=value == field.default,
    )
