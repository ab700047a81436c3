"""Every five minutes: close what died, run what is due, keep the state of functions that are well."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from affidavit.entrypoints.known_good_function_captures import keep_known_good
from affidavit.entrypoints.lambdas.on_incident import LambdaContext, application, renew
from affidavit.incidents.watchdog import tick


def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    renew()
    app, supervisor = application(context.invoked_function_arn)
    until = app.clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())
    return {**asdict(tick(supervisor, until=until)), "known_good": keep_known_good(app, until=until)}
