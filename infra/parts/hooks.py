"""Takes alerts by webhook: a function of its own, there only when it is wanted. It stores incidents and runs none."""

from collections.abc import Mapping

from aws_cdk import Aspects, CfnCondition, CfnOutput, CfnParameter, Duration, Fn, Stack
from aws_cdk import aws_lambda as lambda_

from infra import names
from infra.options import HOOK_SECRETS, Options
from infra.parts.conditional import OnlyIf
from infra.parts.function import PackagedFunction, Spec
from infra.parts.throttled_api import ThrottledApi
from infra.rights import grants
from infra.stacks.state import INCIDENT_CONTEXT, INCIDENT_STATE
from infra.stacks.storage import Storage

_CONCURRENCY = 10


def hook_receiver(
    stack: Stack, *, options: Options, storage: Storage, environment: Mapping[str, str]
) -> PackagedFunction:
    wanted = CfnParameter(
        stack,
        "EnableHooks",
        default="false",
        allowed_values=["true", "false"],
        description="true: alerts may also come by webhook (docs/alerts-in.md); needs a secret for each source",
    )
    labels = CfnParameter(
        stack, "HookLabels", default="", description="labels that name the subject, as node=labels.kubernetes_node"
    )
    condition = CfnCondition(stack, "TakesHooks", expression=Fn.condition_equals(wanted.value_as_string, "true"))
    spec = Spec(
        part="hooks",
        package="mcp",
        handler="affidavit.entrypoints.lambdas.on_hook.handler",
        about="Takes signed alerts by webhook and stores them; the watchdog investigates",
        timeout=Duration.minutes(1),
        memory=1024,
        environment={**environment, "HOOK_LABELS": labels.value_as_string},
        # Open to the internet: a storm of requests must not take the account's concurrency.
        concurrency=_CONCURRENCY,
    )
    receiver = PackagedFunction(stack, spec, options=options)
    _allow(receiver, options, storage.key.key_arn)
    _open(stack, receiver, options, condition)
    Aspects.of(receiver).add(OnlyIf(condition))
    return receiver


def _allow(receiver: PackagedFunction, options: Options, key_arn: str) -> None:
    grants.read_secrets(receiver, HOOK_SECRETS)
    for table in (INCIDENT_STATE, INCIDENT_CONTEXT):
        grants.use_table(receiver, table)
    grants.find_nodes(receiver)
    # Whether an alert tells of the same failure is asked of an earlier diagnosis, which may lie in the bucket.
    records = names.bucket_arn(options.prefix, "incidents/*")
    receiver.allow("ReadIncidents", ["s3:GetObject"], [records], "objects")
    receiver.allow("ReadEncrypted", ["kms:Decrypt"], [key_arn])
    grants.write_objects(receiver, options, key_arn, ["quarantine/"])


def _open(stack: Stack, receiver: PackagedFunction, options: Options, condition: CfnCondition) -> None:
    """Open to the internet on purpose: every request but one with a source's own proof is refused."""
    if options.has_http_api:
        url = ThrottledApi(receiver).url
    else:
        url = receiver.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE).url
    address = CfnOutput(stack, "HooksUrl", value=f"{url}hooks/", description="address for webhooks, before the source")
    address.condition = condition
