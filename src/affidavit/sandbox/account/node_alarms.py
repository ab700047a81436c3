"""The status-check alarm of a node, as an operator makes it: CloudWatch tells the topic of alerts when it fires."""

from collections.abc import Mapping

from botocore.exceptions import BotoCoreError, ClientError

from affidavit.errors import UpstreamFailed
from affidavit.sandbox.aws.resources import Account

METRIC = "StatusCheckFailed"
NAMESPACE = "AWS/EC2"


def fail_status_check(environment: Mapping[str, str], instance_id: str) -> str:
    """Make the node's alarm, then write the metric as EC2 does when a check fails. The alarm's name."""
    name, watched = f"status-{instance_id}", [{"Name": "InstanceId", "Value": instance_id}]
    cloudwatch = Account.of_environment(environment).client("cloudwatch")
    try:
        cloudwatch.put_metric_alarm(
            AlarmName=name,
            Namespace=NAMESPACE,
            MetricName=METRIC,
            Dimensions=watched,
            Statistic="Maximum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1,
            ComparisonOperator="GreaterThanOrEqualToThreshold",
            TreatMissingData="notBreaching",
            AlarmActions=[environment["INCIDENT_TOPIC_ARN"]],
            OKActions=[environment["INCIDENT_TOPIC_ARN"]],
        )
        cloudwatch.put_metric_data(
            Namespace=NAMESPACE, MetricData=[{"MetricName": METRIC, "Dimensions": watched, "Value": 1}]
        )
    except (BotoCoreError, ClientError) as error:
        raise UpstreamFailed(f"the sandbox's CloudWatch could not be asked: {error}", hint="is it running?") from error
    return name
