"""What is decided when templates are made. What an operator decides later is a parameter of a template."""

from dataclasses import dataclass

from aws_cdk import aws_lambda as lambda_

# Amazon Linux 2023: our wheels need its glibc. Native wheels of the lock exist for 3.14, too, but no interpreter of it
# has started them yet.
RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE = lambda_.Architecture.X86_64
# Whatever writes an object names itself in the encryption context; the key refuses our roles anything else.
TOOLS = ("baselines", "collect", "fleet", "incidents", "ingest", "remediation", "search")
KEY_PARAMETER = "/incident-response/mcp-api-key"
# One SecureString per secret setting, named as the setting. Each function may read its own folder alone.
SECRETS = "/incident-response/supervisor"
HOOK_SECRETS = "/incident-response/hooks"
CONSOLE_SECRETS = "/incident-response/console"
NAMESPACE = "Affidavit/Incidents"


@dataclass(frozen=True, kw_only=True)
class Options:
    """`keeps_data` decides what happens to buckets, tables and keys when a stack is deleted.

    `node_tags` are keys of tags that mark nodes which may be collected, beside those that hold a cluster's name. The
    key of a condition cannot be a parameter of a template.

    `has_http_api` puts an HTTP API that throttles before the servers, instead of function URLs. `locked_days` keeps
    stored evidence from being changed or deleted for so many days; a bucket cannot get that later. `signing_arn` is a
    code signing configuration that every package must satisfy.
    """

    prefix: str = "affidavit"
    has_vpc: bool = False
    keeps_data: bool = True
    has_point_in_time_recovery: bool = True
    node_tags: tuple[str, ...] = ()
    has_http_api: bool = False
    locked_days: int = 0
    signing_arn: str = ""

    def name(self, part: str) -> str:
        return f"{self.prefix}-{part}"
