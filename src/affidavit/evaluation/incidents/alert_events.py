"""Alerts as AWS delivers them: a failure the function reported itself, a CloudWatch alarm, an EventBridge event."""

import hashlib
import json
import uuid
from datetime import datetime, timedelta
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

ACCOUNT = "123456789012"
REGION = "ca-central-1"
TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:incident-alerts"


class Alert(BaseModel):
    """What fired. `metric` is for alarms; `error_type` and `error_message` for the other two."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    signal: Literal["failure_report", "alarm", "invocation_failure"]
    metric: str = "Errors"
    datapoint: float = 3.0
    error_type: str = "Exception"
    error_message: str = ""


def alert_event(
    alert: Alert, *, function: str, seed: str, at: datetime, account: str = ACCOUNT
) -> dict[str, JsonValue]:
    """The event the supervisor's Lambda receives: one SNS record. The same seed gives the same ids."""
    told = json.dumps(_record(alert, function, seed, at))
    return json.loads(told.replace(ACCOUNT, account))


def _record(alert: Alert, function: str, seed: str, at: datetime) -> dict[str, JsonValue]:
    return {
        "Records": [
            {
                "EventSource": "aws:sns",
                "EventVersion": "1.0",
                "EventSubscriptionArn": f"{TOPIC}:{_uuid(seed, 'subscription')}",
                "Sns": {
                    "Type": "Notification",
                    "MessageId": _uuid(seed, "message"),
                    "TopicArn": TOPIC,
                    "Subject": _subject(alert, function),
                    "Message": json.dumps(_message(alert, function, seed, at)),
                    "Timestamp": _iso(at),
                    "MessageAttributes": {},
                },
            }
        ]
    }


def _message(alert: Alert, function: str, seed: str, at: datetime) -> dict[str, JsonValue]:
    match alert.signal:
        case "failure_report":
            return _failure_report(alert, function, seed, at)
        case "alarm":
            return _alarm(alert, function, at)
        case "invocation_failure":
            return _invocation_failure(alert, function, seed, at)


def _failure_report(alert: Alert, function: str, seed: str, at: datetime) -> dict[str, JsonValue]:
    request = _uuid(seed, "request")
    return {
        "incident_id": f"{function}-{request}",
        "source": function,
        "function_name": function,
        "request_id": request,
        "error_type": alert.error_type,
        "error_message": alert.error_message,
        "timestamp": _iso(at),
    }


def _alarm(alert: Alert, function: str, at: datetime) -> dict[str, JsonValue]:
    name = f"{function}-{alert.metric.lower()}"
    earlier = at - timedelta(minutes=1)
    return {
        "AlarmName": name,
        "AlarmDescription": f"{alert.metric} of {function}",
        "AWSAccountId": ACCOUNT,
        "AlarmConfigurationUpdatedTimestamp": _offset(at - timedelta(days=12)),
        "NewStateValue": "ALARM",
        "NewStateReason": f"Threshold Crossed: 1 datapoint [{alert.datapoint} ({earlier:%d/%m/%y %H:%M:%S})] was "
        "greater than or equal to the threshold (1.0).",
        "StateChangeTime": _offset(at),
        "Region": "Canada (Central)",
        "AlarmArn": f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm:{name}",
        "OldStateValue": "OK",
        "OKActions": [],
        "AlarmActions": [TOPIC],
        "InsufficientDataActions": [],
        "Trigger": {
            "MetricName": alert.metric,
            "Namespace": "AWS/Lambda",
            "StatisticType": "Statistic",
            "Statistic": "SUM",
            "Unit": None,
            "Dimensions": [{"value": function, "name": "FunctionName"}],
            "Period": 60,
            "EvaluationPeriods": 1,
            "DatapointsToAlarm": 1,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "Threshold": 1.0,
            "TreatMissingData": "notBreaching",
            "EvaluateLowSampleCountPercentile": "",
        },
    }


def _invocation_failure(alert: Alert, function: str, seed: str, at: datetime) -> dict[str, JsonValue]:
    arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}"
    return {
        "version": "0",
        "id": _uuid(seed, "event"),
        "detail-type": "Lambda Function Invocation Result - Failure",
        "source": "lambda",
        "account": ACCOUNT,
        "time": _iso(at),
        "region": REGION,
        "resources": [arn],
        "detail": {
            "version": "1.0",
            "timestamp": _iso(at),
            "requestContext": {
                "requestId": _uuid(seed, "request"),
                "functionArn": f"{arn}:$LATEST",
                "condition": "RetriesExhausted",
                "approximateInvokeCount": 3,
            },
            "requestPayload": {},
            "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
            "responsePayload": {"errorType": alert.error_type, "errorMessage": alert.error_message},
        },
    }


def _subject(alert: Alert, function: str) -> str | None:
    if alert.signal == "alarm":
        return f'ALARM: "{function}-{alert.metric.lower()}" in Canada (Central)'
    return f"{function} failed" if alert.signal == "failure_report" else None


def _uuid(seed: str, what: str) -> str:
    return str(uuid.UUID(bytes=hashlib.sha256(f"{seed}/{what}".encode()).digest()[:16], version=4))


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _offset(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "+0000")
