"""From an upload to an answer: the indexer behind its queue, and the MCP server."""

from aws_cdk import Aspects, CfnCondition, CfnOutput, CfnParameter, Duration, Fn, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import names
from infra.options import KEY_PARAMETER, Options
from infra.parts.conditional import OnlyIf
from infra.parts.function import PackagedFunction, Spec
from infra.parts.network import Network
from infra.parts.oauth import oauth_environment
from infra.parts.personal_data import PersonalData
from infra.parts.throttled_api import address_of
from infra.rights import grants
from infra.stacks.state import STATE
from infra.stacks.storage import INDEXING_TIMEOUT, Storage

_HANDLERS = "affidavit.entrypoints.lambdas"


class NodeLogs(Stack):
    def __init__(
        self, scope: Construct, name: str, *, options: Options, storage: Storage, network: Network | None = None
    ) -> None:
        super().__init__(scope, name, description="Affidavit: indexing and the MCP server", analytics_reporting=False)
        self._options, self._storage = options, storage
        self._clusters = CfnParameter(
            self,
            "AllowedClusters",
            type="CommaDelimitedList",
            default="",
            description="clusters, by comma, whose nodes may be collected",
        )
        self._functions = CfnParameter(
            self,
            "WorkloadFunctions",
            default="*",
            description="which functions may be read, such as orders-*; * stands for any text",
        )
        self._log_groups = CfnParameter(
            self,
            "WorkloadLogGroups",
            default="/aws/lambda/*",
            description="which log groups may be read; * stands for any text",
        )
        self._concurrency = CfnParameter(
            self,
            "ServerConcurrency",
            type="Number",
            default=20,
            min_value=0,
            description="most requests at a time of each server that is open to the internet; 0: no limit of its own",
        )
        self._most_uploaded = CfnParameter(
            self,
            "MaxUploadMiB",
            type="Number",
            default=2048,
            min_value=1,
            description="largest archive, in MiB, that is indexed; a larger one is refused unread",
        )
        self._is_limited = CfnCondition(
            self,
            "LimitsServers",
            expression=Fn.condition_not(Fn.condition_equals(self._concurrency.value_as_string, "0")),
        )
        self._oauth = oauth_environment(self)
        self._public_address = CfnParameter(
            self,
            "PublicUrl",
            default="",
            description="address clients use, when a domain of yours is before the server",
        )
        self.indexer = self._indexer(network)
        self.server = self._server()
        self.server_url = self._opened(self.server, "ServerUrl")
        self.collector = self._collector()
        personal = PersonalData(self)
        personal.hide_in(self.server, with_comprehend=True)
        # It answers with states of collections, and no text of a log.
        personal.hide_in(self.collector, with_comprehend=False)

    def _environment(self) -> dict[str, str]:
        return {
            "LOGS_BUCKET": names.placed(names.bucket_name(self._options.prefix)),
            "STATE_TABLE": STATE,
            "KMS_KEY_ID": self._storage.key.key_arn,
            "ALLOWED_CLUSTERS": Fn.join(",", self._clusters.value_as_list),
        }

    def _answering_environment(self) -> dict[str, str]:
        return {**self._environment(), **self._oauth, "MCP_API_KEY_PARAMETER": KEY_PARAMETER}

    def _indexer(self, network: Network | None) -> PackagedFunction:
        spec = Spec(
            part="indexer",
            package="ingest",
            handler=f"{_HANDLERS}.on_bundle_uploaded.handler",
            about="Reads uploaded bundles, which are hostile input, and stores their indexes",
            timeout=INDEXING_TIMEOUT,
            memory=3008,
            storage=10240,
            environment={**self._environment(), "MAX_UPLOAD_MIB": self._most_uploaded.value_as_string},
        )
        indexer = PackagedFunction(
            self,
            spec,
            options=self._options,
            vpc=network.vpc if network is not None else None,
            groups=[network.group] if network is not None else None,
        )
        queue = self._storage.uploads
        actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"]
        indexer.allow("TakeUploads", actions, [names.queue_arn(self._options.name("uploads"))])
        indexer.allow("KeepReasons", ["sqs:SendMessage"], [names.queue_arn(self._options.name("uploads-dead"))])
        indexer.function.add_environment("DEAD_LETTER_QUEUE_URL", self._storage.dead_uploads.queue_url)
        grants.read_objects(indexer, self._options, self._storage.key.key_arn)
        grants.write_objects(indexer, self._options, self._storage.key.key_arn, ["eks_", "fleet/"])
        grants.use_table(indexer, STATE)
        grants.find_nodes(indexer)
        self._wakes_incidents(indexer)
        # Beyond it, uploads wait in the queue: an avalanche of bundles must not take the account's concurrency.
        lambda_.EventSourceMapping(
            self,
            "Uploads",
            target=indexer.function,
            event_source_arn=queue.queue_arn,
            batch_size=1,
            report_batch_item_failures=True,
            max_concurrency=20,
        )
        return indexer

    def _wakes_incidents(self, indexer: PackagedFunction) -> None:
        """It tells the topic of alerts which node's bundle can be asked; it reads nothing there."""
        topic = names.topic_arn(self._options.name("incidents"))
        indexer.function.add_environment("INCIDENT_TOPIC_ARN", names.placed(topic))
        indexer.allow("WakeIncidents", ["sns:Publish"], [topic])
        indexer.allow("EncryptNews", ["kms:GenerateDataKey", "kms:Decrypt"], [self._storage.messages_key.key_arn])

    def _server(self) -> PackagedFunction:
        spec = Spec(
            part="mcp",
            package="mcp",
            handler=f"{_HANDLERS}.mcp_http.handler",
            about="Answers questions about nodes and functions; it reads, and keeps only its own state",
            timeout=Duration.minutes(2),
            memory=1769,
            storage=4096,
            environment={
                **self._answering_environment(),
                "MCP_TOOLSETS": "nodes,lambda",
                "MCP_PUBLIC_URL": self._public_address.value_as_string,
            },
        )
        server = PackagedFunction(self, spec, options=self._options)
        self._answering(server)
        grants.write_objects(server, self._options, self._storage.key.key_arn, ["eks_*/searches/"])
        grants.read_workloads(
            server, functions=self._functions.value_as_string, log_groups=self._log_groups.value_as_string
        )
        return server

    def _opened(self, server: PackagedFunction, output: str, condition: CfnCondition | None = None) -> str:
        limit = Fn.condition_if(self._is_limited.logical_id, self._concurrency.value_as_string, {"Ref": "AWS::NoValue"})
        server.override("ReservedConcurrentExecutions", limit)
        url = address_of(server, self._options)
        address = CfnOutput(self, output, value=f"{url}mcp", description="address for MCP clients")
        if condition is not None:
            address.condition = condition
        return url

    def _answering(self, function: PackagedFunction) -> None:
        grants.read_objects(function, self._options, self._storage.key.key_arn)
        grants.use_table(function, STATE)
        grants.find_nodes(function)
        grants.read_clusters(function)
        grants.read_server_key(function)

    def _collector(self) -> PackagedFunction:
        """A server of its own, there only when it is wanted: what answers questions cannot act on a node."""
        wanted = CfnParameter(
            self,
            "EnableCollection",
            default="false",
            allowed_values=["true", "false"],
            description="true: a second server that may ask nodes of the allowed clusters for their logs",
        )
        condition = CfnCondition(self, "Collects", expression=Fn.condition_equals(wanted.value_as_string, "true"))
        spec = Spec(
            part="mcp-collect",
            package="mcp",
            handler=f"{_HANDLERS}.mcp_http.handler",
            about="Starts AWS's log collection runbook on nodes of the allowed clusters",
            timeout=Duration.minutes(2),
            memory=1024,
            environment={
                **self._answering_environment(),
                "MCP_TOOLSETS": "collection",
                "ENABLE_COLLECTION": "true",
            },
        )
        collector = PackagedFunction(self, spec, options=self._options)
        self._answering(collector)
        role = grants.collect(collector, self._options, self._clusters.value_as_list)
        collector.function.add_environment("COLLECTION_ROLE_ARN", role)
        self._opened(collector, "CollectorUrl", condition)
        Aspects.of(collector).add(OnlyIf(condition))
        return collector
