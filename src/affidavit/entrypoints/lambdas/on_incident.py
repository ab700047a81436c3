"""An alert arrived: SNS, a CloudWatch alarm, or EventBridge."""

import json
from datetime import timedelta
from functools import cache
from typing import Any, Protocol

from affidavit.bootstrap import App, build_app, deployed_settings
from affidavit.entrypoints.lambdas.secret_rereading import Renewal
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.intake.delivery_handling import Delivered, deliver
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import to_stdout


class LambdaContext(Protocol):
    @property
    def invoked_function_arn(self) -> str: ...

    def get_remaining_time_in_millis(self) -> int: ...


@cache
def application(own_arn: str = "") -> tuple[App, Supervisor]:
    """`own_arn` is this function's, which names the account it runs in."""
    # On the first event, so that importing needs no AWS account.
    app = build_app(deployed_settings())
    account = [*own_arn.split(":"), "", "", "", "", ""][4]
    return app, build_supervisor(app, emit=to_stdout, account=(lambda: account) if account else None)


renew = Renewal(application.cache_clear)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Raises when an incident could not be handled, so that the event source tries again."""
    renew()
    app, supervisor = application(context.invoked_function_arn)
    remaining = timedelta(milliseconds=context.get_remaining_time_in_millis())
    if "redrive" in event:
        outcome = supervisor.redrive(IncidentId(str(event["redrive"])), remaining=remaining)
        return _answer([Delivered(incident_id=IncidentId(str(event["redrive"])), outcome=outcome)])
    return _answer(deliver(event, supervisor, app.objects, remaining=remaining))


def _answer(delivered: list[Delivered]) -> dict[str, Any]:
    body = [{"incident_id": one.incident_id, "outcome": str(one.outcome)} for one in delivered]
    return {"statusCode": 200, "body": json.dumps(body)}
