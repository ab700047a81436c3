"""A small workload that can fail honestly: reads its input from S3, counts it in CloudWatch, reports its own failure.

It runs inside Lambda, alone in its package, so it imports nothing of ours.
"""

import json
import logging
import os
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.config import Config

log = logging.getLogger()
log.setLevel(logging.INFO)

# Below the function's own timeout, so that a blocked network is an error this program can still report.
QUICK = Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 1})


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    try:
        return _process(event, context)
    except Exception as error:
        # The one door of this program: whatever went wrong is told to people, then to Lambda.
        _report(error, context)
        raise


def _process(event: dict[str, Any], context: Any) -> dict[str, Any]:
    bucket, key = os.environ["INPUT_BUCKET"], event.get("key", "input.json")
    log.info("reading s3://%s/%s", bucket, key)
    body = boto3.client("s3", config=QUICK).get_object(Bucket=bucket, Key=key)["Body"].read()
    rows = len(json.loads(body))
    boto3.client("cloudwatch", config=QUICK).put_metric_data(
        Namespace=os.environ["METRIC_NAMESPACE"],
        MetricData=[{"MetricName": "RowsProcessed", "Value": rows, "Unit": "Count"}],
    )
    log.info("processed %d rows", rows)
    return {"rows": rows, "request_id": context.aws_request_id}


def _report(error: Exception, context: Any) -> None:
    report = {
        "incident_id": f"{context.function_name}-{context.aws_request_id}",
        "function_name": context.function_name,
        "request_id": context.aws_request_id,
        "error_type": type(error).__name__,
        "error_message": str(error),
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    log.error("%s: %s", report["error_type"], report["error_message"])
    _count_failure()
    try:
        boto3.client("sns", config=QUICK).publish(
            TopicArn=os.environ["ALERT_TOPIC_ARN"],
            Subject=f"{context.function_name} failed"[:100],
            Message=json.dumps(report),
        )
    except Exception:
        # The first error matters more than that nobody could be told; an alarm on Errors still fires.
        log.exception("the failure could not be published")


def _count_failure() -> None:
    try:
        boto3.client("cloudwatch", config=QUICK).put_metric_data(
            Namespace=os.environ["METRIC_NAMESPACE"],
            MetricData=[{"MetricName": "Failures", "Value": 1, "Unit": "Count"}],
        )
    except Exception:
        # Counting is the least of the troubles now, but why it failed may be the cause of the first error, too.
        log.exception("the failure could not be counted")
