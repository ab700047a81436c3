"""From an alert to a diagnosis: the topic, the supervisor, the watchdog, and where what failed is kept."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import CfnCondition, CfnParameter, Duration, Fn, Stack, Token
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra import names
from infra.options import KEY_PARAMETER, SECRETS, Options
from infra.parts.function import PackagedFunction, Spec
from infra.parts.hooks import hook_receiver
from infra.parts.people import people_environment
from infra.rights import grants
from infra.rights.collecting_role import CollectingRole, role_arn
from infra.rights.known_good import keep_known_good
from infra.stacks.node_logs import NodeLogs
from infra.stacks.state import INCIDENT_CONTEXT, INCIDENT_STATE, STATE, stores
from infra.stacks.storage import Storage, dead_letter_queue

_HANDLERS = "affidavit.entrypoints.lambdas"
EVERY = Duration.minutes(5)
_HEALTH = "NodesHealth"
_ALARMS = "NodesAlarms"
# Other programs have hooks of their own in the same groups; ours carry this beginning of a name (LIFECYCLE_HOOKS).
HOOKS = "affidavit"
_NODE_EVENTS = {
    "NodesEnding": events.EventPattern(
        source=["aws.ec2"],
        detail_type=["EC2 Instance State-change Notification"],
        detail={"state": ["shutting-down", "stopping", "terminated"]},
    ),
    "NodesWarned": events.EventPattern(
        source=["aws.ec2"],
        detail_type=["EC2 Spot Instance Interruption Warning"],
    ),
    "NodesHeld": events.EventPattern(
        source=["aws.autoscaling"],
        detail_type=["EC2 Instance-terminate Lifecycle Action"],
        detail={"LifecycleHookName": [{"prefix": HOOKS}]},
    ),
    _HEALTH: events.EventPattern(source=["aws.health"], detail_type=["AWS Health Event"], detail={"service": ["EC2"]}),
    _ALARMS: events.EventPattern(
        source=["aws.cloudwatch"],
        detail_type=["CloudWatch Alarm State Change"],
        detail={
            "state": {"value": ["ALARM", "OK"]},
            "configuration": {"metrics": {"metricStat": {"metric": {"namespace": ["AWS/EC2", "ContainerInsights"]}}}},
        },
    ),
}


class Supervisor(Stack):
    def __init__(self, scope: Construct, name: str, *, options: Options, storage: Storage, node_logs: NodeLogs) -> None:
        super().__init__(scope, name, description="Affidavit: incidents", analytics_reporting=False)
        self._options, self._storage = options, storage
        self._server_url = self._chosen_url(node_logs)
        self._chat_provider = CfnParameter(
            self,
            "ChatProvider",
            default="bedrock",
            allowed_values=["bedrock", "offline", "anthropic", "openai", "google", "ollama"],
            description="who diagnoses; offline: rules alone",
        )
        self._chat_model = CfnParameter(
            self, "ChatModelId", default="", description="model id or inference profile; needed unless offline"
        )
        self._model_arns = CfnParameter(
            self,
            "BedrockModelArns",
            type="CommaDelimitedList",
            # IAM takes no empty list; there is no such model, so this allows nothing.
            default="arn:aws:bedrock:us-east-1::foundation-model/none",
            description="ARNs of the inference profile and of the models behind it, which may be invoked",
        )
        self._clusters = CfnParameter(
            self,
            "AllowedClusters",
            type="CommaDelimitedList",
            default="",
            description="clusters, by comma, whose nodes become incidents; empty: no node does",
        )
        self._collects = self._choice(
            "EnableCollection", "true: nodes of incidents are asked for their logs, by a role of its own"
        )
        self._endings = self._choice(
            "WatchEndings", "true: nodes that end become incidents, and are collected before; needs EnableCollection"
        )
        self._alarms = self._choice(
            "WatchAlarms", "true: every EC2 and Container Insights alarm is an alert, without an action of its own"
        )
        self._cluster_api = CfnParameter(
            self,
            "KubernetesApi",
            default="off",
            allowed_values=["off", "eks"],
            description="eks: the API of a node's cluster is asked; it must let our roles in (docs/incidents.md)",
        )
        self._host_logs = CfnParameter(
            self,
            "HostLogGroups",
            default="/aws/containerinsights/*",
            description="log groups that nodes send their logs to, which may be read; * stands for any text",
        )
        is_on = Fn.condition_equals(self._collects.value_as_string, "true")
        self._is_collecting = CfnCondition(self, "Collects", expression=is_on)
        self._people_environment = people_environment(self)
        self.topic = self._topic("Alerts", options.name("incidents"))
        self.people = self._topic("People", options.name("people"))
        self.dead_letters = dead_letter_queue(self, "DeadIncidents", options.name("incidents-dead"))
        self.supervisor = self._supervisor()
        self.watchdog = self._watchdog()
        keep_known_good(self, self.watchdog, options)
        self._let_collect()
        self._watch_nodes()
        self.hooks = hook_receiver(self, options=options, storage=storage, environment=self._own_environment())

    def _choice(self, name: str, about: str) -> CfnParameter:
        return CfnParameter(self, name, default="false", allowed_values=["true", "false"], description=about)

    def _chosen_url(self, node_logs: NodeLogs) -> str:
        other = CfnParameter(
            self, "McpServerUrl", default="", description="another address of the MCP server, such as a domain of yours"
        )
        own = CfnCondition(self, "OwnServer", expression=Fn.condition_equals(other.value_as_string, ""))
        chosen = Fn.condition_if(own.logical_id, f"{node_logs.server_url}mcp", other.value_as_string)
        return Token.as_string(chosen)

    def _topic(self, name: str, topic_name: str) -> sns.Topic:
        topic = sns.Topic(self, name, topic_name=topic_name, master_key=self._storage.messages_key, enforce_ssl=True)
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsOfThisAccountPublish",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": self.account}},
            )
        )
        return topic

    def _own_environment(self) -> dict[str, str]:
        """What everybody needs who takes alerts in."""
        return {
            **stores(self._options, self._storage.key.key_arn),
            "ALLOWED_CLUSTERS": Fn.join(",", self._clusters.value_as_list),
        }

    def _environment(self) -> dict[str, str]:
        return {
            **self._own_environment(),
            **self._people_environment,
            "ALERT_TOPIC_ARN": self.people.topic_arn,
            "ENABLE_COLLECTION": self._collects.value_as_string,
            "NODE_COLLECTION_ROLE_ARN": names.placed(role_arn(self._options)),
            "COLLECTION_ROLE_ARN": names.placed(
                f"arn:{{partition}}:iam::{{account}}:role/{self._options.name('collection')}"
            ),
            "KUBERNETES_API": self._cluster_api.value_as_string,
            "MCP_SERVER_URL": self._server_url,
            "MCP_API_KEY_PARAMETER": KEY_PARAMETER,
            "CHAT_PROVIDER": self._chat_provider.value_as_string,
            "CHAT_MODEL_ID": self._chat_model.value_as_string,
        }

    def _supervisor(self) -> PackagedFunction:
        function = self._investigator("supervisor", "on_incident", "Takes alerts and diagnoses them", concurrency=None)
        function.function.configure_async_invoke(
            on_failure=destinations.SqsDestination(self.dead_letters),
            retry_attempts=2,
            max_event_age=Duration.hours(6),
        )
        undelivered = dead_letter_queue(self, "UndeliveredAlerts", self._options.name("alerts-undelivered"))
        self.undelivered = undelivered
        self.topic.add_subscription(subscriptions.LambdaSubscription(function.function, dead_letter_queue=undelivered))
        return function

    def _watchdog(self) -> PackagedFunction:
        function = self._investigator(
            "watchdog", "on_watchdog_tick", "Closes incidents whose worker died, runs those that are due", concurrency=1
        )
        events.Rule(
            self,
            "Tick",
            rule_name=self._options.name("watchdog"),
            description="wakes the watchdog",
            schedule=events.Schedule.rate(EVERY),
            targets=[
                targets.LambdaFunction(
                    function.function,
                    dead_letter_queue=self.dead_letters,
                    # The next tick comes soon, and it sees everything that this one would have seen.
                    retry_attempts=0,
                    max_event_age=EVERY,
                )
            ],
        )
        return function

    def _let_collect(self) -> None:
        """What diagnoses cannot act: it takes another role for that, which is there only where it is wanted."""
        investigators = (self.supervisor, self.watchdog)
        CollectingRole(
            self,
            self._options,
            takers=[function.role for function in investigators],
            clusters=self._clusters.value_as_list,
            log_groups=self._host_logs.value_as_string,
            key_arn=self._storage.key.key_arn,
            condition=self._is_collecting,
        )
        for function in investigators:
            function.allow("TakeTheCollectingRole", ["sts:AssumeRole"], [role_arn(self._options)])

    def _watch_nodes(self) -> None:
        """EventBridge tells of every instance of the account; without an allowed cluster nobody listens."""
        named = Fn.condition_not(Fn.condition_equals(Fn.join(",", self._clusters.value_as_list), ""))
        # Every scale-down ends nodes: without the right to collect them that would only be noise.
        collects = Fn.condition_equals(self._collects.value_as_string, "true")
        endings = Fn.condition_equals(self._endings.value_as_string, "true")
        alarms = Fn.condition_equals(self._alarms.value_as_string, "true")
        ending = CfnCondition(self, "WatchesEndings", expression=Fn.condition_and(named, collects, endings))
        others = {
            _HEALTH: CfnCondition(self, "WatchesNodes", expression=named),
            _ALARMS: CfnCondition(self, "WatchesAlarms", expression=Fn.condition_and(named, alarms)),
        }
        for name, pattern in _NODE_EVENTS.items():
            rule = events.Rule(
                self,
                name,
                rule_name=self._options.name(name.lower()),
                description="tells the supervisor what happens to nodes",
                event_pattern=pattern,
                targets=[
                    targets.LambdaFunction(
                        self.supervisor.function, dead_letter_queue=self.dead_letters, retry_attempts=8
                    )
                ],
            )
            shape = cast("events.CfnRule", rule.node.default_child)
            wanted = others.get(name, ending)
            shape.add_property_override("State", Fn.condition_if(wanted.logical_id, "ENABLED", "DISABLED"))

    def _investigator(self, part: str, handler: str, about: str, *, concurrency: int | None) -> PackagedFunction:
        spec = Spec(
            part=part,
            package="supervisor",
            handler=f"{_HANDLERS}.{handler}.handler",
            about=about,
            timeout=Duration.minutes(10),
            memory=1769,
            environment=self._environment(),
            concurrency=concurrency,
        )
        function = PackagedFunction(self, spec, options=self._options, dead_letters=self.dead_letters)
        grants.read_objects(function, self._options, self._storage.key.key_arn)
        grants.write_objects(function, self._options, self._storage.key.key_arn, ["incidents/", "quarantine/"])
        for table in (INCIDENT_STATE, INCIDENT_CONTEXT):
            grants.use_table(function, table)
        grants.read_server_key(function)
        grants.read_secrets(function, SECRETS)
        grants.read_table(function, STATE)
        grants.find_nodes(function)
        grants.read_clusters(function)
        function.allow("TellPeople", ["sns:Publish"], [names.topic_arn(self._options.name("people"))])
        function.allow("EncryptMessages", ["kms:GenerateDataKey", "kms:Decrypt"], [self._storage.messages_key.key_arn])
        self._allow_chat_models(function, self._model_arns.value_as_list)
        return function

    @staticmethod
    def _allow_chat_models(function: PackagedFunction, arns: Sequence[str]) -> None:
        function.allow("AskTheChatModel", ["bedrock:InvokeModel", "bedrock:GetInferenceProfile"], arns)
