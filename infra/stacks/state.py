"""The tables: collections and searches, incidents, diagnoses."""

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra import names
from infra.options import Options
from infra.rights.wildcards import acknowledge

STATE = "affidavit-state"
INCIDENT_STATE = "incident-state"
INCIDENT_CONTEXT = "incident-context"
TABLES = (STATE, INCIDENT_STATE, INCIDENT_CONTEXT)


def stores(options: Options, key_arn: str) -> dict[str, str]:
    """The variables that tell a function where bundles and incidents lie."""
    return {
        "LOGS_BUCKET": names.placed(names.bucket_name(options.prefix)),
        "STATE_TABLE": STATE,
        "INCIDENT_STATE_TABLE": INCIDENT_STATE,
        "INCIDENT_CONTEXT_TABLE": INCIDENT_CONTEXT,
        "KMS_KEY_ID": key_arn,
    }


class State(Stack):
    def __init__(self, scope: Construct, name: str, *, options: Options) -> None:
        super().__init__(
            scope, name, description="Affidavit: state of collections and incidents", analytics_reporting=False
        )
        self.tables = {table: self._table(table, options) for table in TABLES}

    def _table(self, name: str, options: Options) -> dynamodb.Table:
        table = dynamodb.Table(
            self,
            "".join(word.title() for word in name.split("-")),
            table_name=name,
            partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="sk", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=dynamodb.TableEncryption.AWS_MANAGED,
            time_to_live_attribute="ttl",
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=options.has_point_in_time_recovery
            ),
            deletion_protection=options.keeps_data,
            removal_policy=RemovalPolicy.RETAIN if options.keeps_data else RemovalPolicy.DESTROY,
        )
        table.add_global_secondary_index(
            index_name="due",
            partition_key=dynamodb.Attribute(name="due", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="due_at", type=dynamodb.AttributeType.NUMBER),
        )
        if not options.has_point_in_time_recovery:
            acknowledge(
                table, "AwsSolutions-DDB3", "Switched off by the operator: everything here can be collected again."
            )
        return table
