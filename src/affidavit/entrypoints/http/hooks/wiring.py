"""Settings → hooks. None where no secret of a source is set."""

import threading
from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from queue import SimpleQueue

from affidavit.bootstrap import App
from affidavit.entrypoints.http.hooks.app import Hooks
from affidavit.entrypoints.http.rate_limit import RequestRates
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.errors import InputRefused
from affidavit.incidents.intake.hooks.label_mapping import label_names
from affidavit.incidents.intake.hooks.readers import HookSource
from affidavit.incidents.reception import Reception
from affidavit.incidents.store.state import Lease
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import Emit
from affidavit.settings import Settings

SHORTEST_SECRET = 16
INVESTIGATION = timedelta(minutes=10)


def hook_secrets(settings: Settings) -> dict[HookSource, str]:
    """Raises InputRefused for a secret that can be guessed."""
    given = {
        HookSource.ALERTMANAGER: settings.hook_alertmanager_secret,
        HookSource.GRAFANA: settings.hook_grafana_secret,
        HookSource.PAGERDUTY: settings.hook_pagerduty_secret,
        HookSource.GENERIC: settings.hook_generic_secret,
    }
    for source, secret in given.items():
        if any(len(one) < SHORTEST_SECRET for one in secret.split(",") if one):
            raise InputRefused(
                f"the secret of the hook {source} is shorter than {SHORTEST_SECRET} characters",
                hint="make one, for example by: openssl rand -hex 32",
            )
    return {source: secret for source, secret in given.items() if secret}


def build_hooks(app: App, *, emit: Emit, runs_here: bool) -> Hooks | None:
    """With `runs_here` incidents are investigated in a thread of this process; else the watchdog starts them."""
    secrets = hook_secrets(app.settings)
    if not secrets:
        return None
    supervisor = build_supervisor(app, emit=emit)
    made = {one.name: getattr(supervisor, one.name) for one in fields(Supervisor)}
    reception = Reception(**made, start=_in_background(supervisor)) if runs_here else Reception(**made)
    return Hooks(
        secrets=secrets,
        reception=reception,
        quarantine=app.objects,
        rates=RequestRates(app.settings.hook_requests_per_minute),
        labels=label_names(app.settings.hook_labels),
    )


def _in_background(supervisor: Supervisor) -> Callable[[Lease], None]:
    """One after the other: a storm of alerts must not become a storm of investigations."""
    waiting: SimpleQueue[Lease] = SimpleQueue()

    def work() -> None:
        while True:
            lease = waiting.get()
            try:
                # While it waited its first lease may have run out; then it is taken anew, or somebody else has it.
                supervisor.resume_stored(lease, remaining=INVESTIGATION)
            except Exception as error:  # noqa: BLE001 - it is stored with the incident; the next one has its turn
                supervisor.telemetry.log("hook_run_failed", incident_id=lease.incident_id, message=str(error))

    threading.Thread(target=work, name="affidavit-hooks", daemon=True).start()
    return waiting.put
