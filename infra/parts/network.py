"""A VPC without a way out, for the function that opens archives: endpoints lead to our own things and nowhere else."""

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra import names
from infra.options import Options
from infra.rights.wildcards import acknowledge
from infra.stacks.state import STATE

ADDRESSES = "10.0.0.0/16"


class Network(Stack):
    def __init__(self, scope: Construct, name: str, *, options: Options) -> None:
        super().__init__(scope, name, description="Affidavit: a VPC without a way out", analytics_reporting=False)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(ADDRESSES),
            max_azs=2,
            nat_gateways=0,
            restrict_default_security_group=False,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="closed", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=24)
            ],
        )
        acknowledge(
            self.vpc,
            "AwsSolutions-VPC7",
            "Nothing leads out of this VPC but endpoints, whose calls CloudTrail records.",
        )
        self._gateway("Objects", ec2.GatewayVpcEndpointAwsService.S3, self._objects(options))
        self._gateway("Items", ec2.GatewayVpcEndpointAwsService.DYNAMODB, self._items())
        self.group = closed_group(self, self.vpc, "of the indexer")
        for service in (ec2.InterfaceVpcEndpointAwsService.EC2, ec2.InterfaceVpcEndpointAwsService.SQS):
            lead_to(service, self.vpc)

    def _gateway(self, name: str, service: ec2.GatewayVpcEndpointAwsService, statement: iam.PolicyStatement) -> None:
        endpoint = self.vpc.add_gateway_endpoint(name, service=service)
        endpoint.add_to_policy(statement)

    @staticmethod
    def _objects(options: Options) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            sid="OnlyTheLogsBucket",
            principals=[iam.AnyPrincipal()],
            actions=["s3:AbortMultipartUpload", "s3:GetObject", "s3:ListBucket", "s3:PutObject"],
            resources=[names.placed(names.bucket_arn(options.prefix, keys)) for keys in ("", "*")],
        )

    @staticmethod
    def _items() -> iam.PolicyStatement:
        actions = ("ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem")
        return iam.PolicyStatement(
            sid="OnlyTheStateTable",
            principals=[iam.AnyPrincipal()],
            actions=[f"dynamodb:{action}" for action in actions],
            resources=[names.placed(names.table_arn(STATE, part)) for part in ("", "/index/due")],
        )


def closed_group(stack: Stack, vpc: ec2.IVpc, about: str) -> ec2.SecurityGroup:
    """Out only by HTTPS; where that leads is decided by the endpoints, for the subnets have no other way out."""
    group = ec2.SecurityGroup(stack, "Group", vpc=vpc, allow_all_outbound=False, description=about)
    group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "endpoints")
    return group


def lead_to(service: ec2.InterfaceVpcEndpointAwsService, vpc: ec2.Vpc) -> None:
    """The rule names addresses, not the function's group: then neither group waits for the other."""
    name = service.short_name.title()
    group = ec2.SecurityGroup(
        vpc, f"{name}Group", vpc=vpc, allow_all_outbound=False, description=f"of the endpoint of {service.short_name}"
    )
    group.add_ingress_rule(ec2.Peer.ipv4(ADDRESSES), ec2.Port.tcp(443), "from this VPC")
    vpc.add_interface_endpoint(name, service=service, open=False, security_groups=[group])
