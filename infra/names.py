"""ARNs of things whose names we chose. Stacks name each other's things by these, so that few exports tie them."""

from aws_cdk import Aws

_PLACES = {"{partition}": Aws.PARTITION, "{region}": Aws.REGION, "{account}": Aws.ACCOUNT_ID}
_SHOWN = {"{partition}": "<AWS::Partition>", "{region}": "<AWS::Region>", "{account}": "<AWS::AccountId>"}
LOGS_BUCKET = "{prefix}-logs-{account}-{region}"


def placed(pattern: str) -> str:
    """With the deployment's own partition, region and account."""
    return _replaced(pattern, _PLACES)


def shown(pattern: str) -> str:
    """As cdk-nag prints it."""
    return _replaced(pattern, _SHOWN)


def bucket_name(prefix: str) -> str:
    return LOGS_BUCKET.replace("{prefix}", prefix)


def bucket_arn(prefix: str, keys: str = "") -> str:
    return f"arn:{{partition}}:s3:::{bucket_name(prefix)}" + (f"/{keys}" if keys else "")


def table_arn(name: str, part: str = "") -> str:
    return f"arn:{{partition}}:dynamodb:{{region}}:{{account}}:table/{name}{part}"


def queue_arn(name: str) -> str:
    return f"arn:{{partition}}:sqs:{{region}}:{{account}}:{name}"


def topic_arn(name: str) -> str:
    return f"arn:{{partition}}:sns:{{region}}:{{account}}:{name}"


def function_arn(name: str) -> str:
    return f"arn:{{partition}}:lambda:{{region}}:{{account}}:function:{name}"


def parameter_arn(name: str) -> str:
    return f"arn:{{partition}}:ssm:{{region}}:{{account}}:parameter{name}"


def log_streams_arn(function: str) -> str:
    return f"arn:{{partition}}:logs:{{region}}:{{account}}:log-group:/aws/lambda/{function}:*"


def _replaced(pattern: str, values: dict[str, str]) -> str:
    for place, value in values.items():
        pattern = pattern.replace(place, value)
    return pattern
