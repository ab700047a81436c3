"""Where a function's failed events and results are sent, which metric counts those that were not, and what it takes."""

DELIVERIES = (
    ("dead_letter_errors", "DeadLetterTarget", "failed events"),
    ("destination_delivery_failures", "OnFailure", "failed events"),
    ("destination_delivery_failures", "OnSuccess", "results"),
)
"""Metric, field of the configuration, and what is sent there."""
_ACTIONS = {
    "sqs": "sqs:SendMessage",
    "sns": "sns:Publish",
    "lambda": "lambda:InvokeFunction",
    "events": "events:PutEvents",
    "s3": "s3:PutObject",
}


def sending_action(target: str) -> str | None:
    """What the role needs to send to this ARN; None when it is none that Lambda sends to."""
    return _ACTIONS.get([*target.split(":"), "", "", ""][2])
