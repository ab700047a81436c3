"""An HTTP API before a server: it throttles before a function starts, and keeps a log of who came."""

import json

from aws_cdk import RemovalPolicy
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.options import Options
from infra.parts.function import PackagedFunction
from infra.rights.wildcards import acknowledge

REQUESTS_PER_SECOND = 20
BURST = 40
_NO_AUTHORIZER = "The server itself asks every request but the health check for its key or token."
_LOGGED = json.dumps(
    {
        "at": "$context.requestTime",
        "from": "$context.identity.sourceIp",
        "status": "$context.status",
        "path": "$context.path",
    }
)


class ThrottledApi(Construct):
    def __init__(self, server: PackagedFunction) -> None:
        super().__init__(server, "Api")
        api = gateway.HttpApi(
            self,
            "Http",
            api_name=server.name,
            create_default_stage=False,
            default_integration=integrations.HttpLambdaIntegration("Server", server.function),
        )
        group = logs.LogGroup(
            self, "Requests", retention=logs.RetentionDays.THREE_MONTHS, removal_policy=RemovalPolicy.DESTROY
        )
        stage = gateway.CfnStage(
            self,
            "Stage",
            api_id=api.http_api_id,
            stage_name="$default",
            auto_deploy=True,
            default_route_settings=gateway.CfnStage.RouteSettingsProperty(
                throttling_rate_limit=REQUESTS_PER_SECOND, throttling_burst_limit=BURST
            ),
            access_log_settings=gateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=group.log_group_arn, format=_LOGGED
            ),
        )
        stage.node.add_dependency(api)
        acknowledge(api, "AwsSolutions-APIG4", _NO_AUTHORIZER)
        self.url = f"{api.api_endpoint}/"


def address_of(server: PackagedFunction, options: Options) -> str:
    """Open to the internet on purpose: the server itself asks every request but the health check who it is from."""
    if options.has_http_api:
        return ThrottledApi(server).url
    return server.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE).url
