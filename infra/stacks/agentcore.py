"""Opt-in: the same tools behind an AgentCore gateway, for agents that speak to one."""

from typing import Any

from aws_cdk import CfnOutput, CfnParameter, Duration, Stack
from aws_cdk import aws_bedrockagentcore as agentcore
from aws_cdk import aws_iam as iam
from constructs import Construct

from affidavit.entrypoints.mcp.tools.catalog import NODES
from affidavit.entrypoints.mcp.tools.gateway_schemas import gateway_tools
from infra import names
from infra.options import Options
from infra.parts.function import PackagedFunction, Spec
from infra.parts.personal_data import PersonalData
from infra.rights import grants
from infra.stacks.state import STATE
from infra.stacks.storage import Storage

TARGET = "nodes"


class AgentCore(Stack):
    def __init__(self, scope: Construct, name: str, *, options: Options, storage: Storage) -> None:
        super().__init__(scope, name, description="Affidavit: an AgentCore gateway", analytics_reporting=False)
        tools = self._tools(options, storage)
        PersonalData(self).hide_in(tools, with_comprehend=True)
        role = self._role(options, tools)
        gateway = agentcore.CfnGateway(
            self,
            "Gateway",
            name=options.name("gateway"),
            description="Questions about EKS nodes",
            protocol_type="MCP",
            authorizer_type="CUSTOM_JWT",
            authorizer_configuration=self._authorizer(),
            role_arn=role.role_arn,
        )
        agentcore.CfnGatewayTarget(
            self,
            "Nodes",
            name=TARGET,
            description="Answers from the indexes of collected bundles",
            gateway_identifier=gateway.attr_gateway_identifier,
            credential_provider_configurations=[{"credentialProviderType": "GATEWAY_IAM_ROLE"}],
            target_configuration=_target(tools.function.function_arn),
        )
        CfnOutput(self, "GatewayUrl", value=gateway.attr_gateway_url)

    def _authorizer(self) -> dict[str, Any]:
        discovery = CfnParameter(
            self, "DiscoveryUrl", min_length=1, description="OpenID discovery address of the issuer"
        )
        audience = CfnParameter(self, "Audience", min_length=1, description="audience that tokens must name")
        jwt = {"discoveryUrl": discovery.value_as_string, "allowedAudience": [audience.value_as_string]}
        return {"customJwtAuthorizer": jwt}

    def _tools(self, options: Options, storage: Storage) -> PackagedFunction:
        spec = Spec(
            part="gateway-tools",
            package="mcp",
            handler="affidavit.entrypoints.lambdas.on_gateway_call.handler",
            about="Answers the gateway's calls; it reads, and keeps only its own state",
            timeout=Duration.minutes(2),
            memory=1769,
            storage=4096,
            environment={
                "LOGS_BUCKET": names.placed(names.bucket_name(options.prefix)),
                "STATE_TABLE": STATE,
                "KMS_KEY_ID": storage.key.key_arn,
            },
        )
        function = PackagedFunction(self, spec, options=options)
        grants.read_objects(function, options, storage.key.key_arn)
        grants.write_objects(function, options, storage.key.key_arn, ["eks_*/searches/"])
        grants.use_table(function, STATE)
        grants.find_nodes(function)
        grants.read_clusters(function)
        return function

    def _role(self, options: Options, tools: PackagedFunction) -> iam.Role:
        caller = iam.ServicePrincipal(
            "bedrock-agentcore.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": self.account}}
        )
        role = iam.Role(self, "GatewayRole", role_name=options.name("gateway"), assumed_by=caller)
        policy = iam.Policy(self, "GatewayPolicy", roles=[role])
        policy.add_statements(
            iam.PolicyStatement(
                sid="CallTheTools",
                actions=["lambda:InvokeFunction"],
                resources=[names.placed(names.function_arn(tools.name))],
            )
        )
        return role


def _target(function_arn: str) -> dict[str, Any]:
    schema = {"inlinePayload": gateway_tools(NODES)}
    return {"mcp": {"lambda": {"lambdaArn": function_arn, "toolSchema": schema}}}
