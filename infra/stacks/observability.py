"""What somebody should look at, and what should wake somebody up."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.options import NAMESPACE, Options
from infra.parts.function import PackagedFunction
from infra.stacks.node_logs import NodeLogs
from infra.stacks.storage import Storage
from infra.stacks.supervisor import Supervisor


class Observability(Stack):
    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        options: Options,
        storage: Storage,
        node_logs: NodeLogs,
        supervisor: Supervisor,
    ) -> None:
        super().__init__(scope, name, description="Affidavit: dashboard and alarms", analytics_reporting=False)
        self._options = options
        self._action = actions.SnsAction(supervisor.people)
        functions = (node_logs.indexer, node_logs.server, supervisor.supervisor, supervisor.watchdog)
        queues = {
            "uploads-dead": storage.dead_uploads,
            "incidents-dead": supervisor.dead_letters,
            "alerts-undelivered": supervisor.undelivered,
        }
        for function in functions:
            self._alarm_on_function(function)
        for part, queue in queues.items():
            self._alarm(f"{part}-depth", _depth(queue), about=f"Something lies in the queue {part}; see docs/deploy.md")
        self._alarm_on_incidents()
        self._alarm(
            "uploads-old",
            storage.uploads.metric_approximate_age_of_oldest_message(statistic="Maximum"),
            threshold=3600,
            about="A bundle has waited an hour for its index",
        )
        self._dashboard(functions, storage, queues)

    def _alarm_on_function(self, function: PackagedFunction) -> None:
        part, lambda_ = function.node.id, function.function
        self._alarm(f"{part}-errors", lambda_.metric_errors(), about=f"{function.name} failed")
        self._alarm(f"{part}-throttles", lambda_.metric_throttles(), about=f"{function.name} was not allowed to run")
        if part in ("mcp", "supervisor"):
            slow = 20_000 if part == "mcp" else 480_000
            duration = lambda_.metric_duration(statistic="p95")
            self._alarm(f"{part}-slow", duration, threshold=slow, times=3, about=f"{function.name} is slow")

    def _alarm_on_incidents(self) -> None:
        said = {
            "CircuitBreakerDeferred": "Too many incidents in an hour: no chat model is asked, they wait",
            "WatchdogClosed": "An incident went stale and was closed without a diagnosis",
            "WatchdogFailed": "An incident could not be run again",
            "Quarantined": "An alert could not be read; its text is kept under quarantine/",
            "Errors": "An incident could not be investigated",
            "NoticesLost": "Nobody was told how an incident ended; `affidavit incident list` shows it",
        }
        for name, about in said.items():
            self._alarm(f"incidents-{name.lower()}", _incidents(name), about=about)

    def _alarm(
        self, name: str, metric: cloudwatch.IMetric, *, about: str, threshold: float = 1, times: int = 1
    ) -> None:
        alarm = cloudwatch.Alarm(
            self,
            name,
            alarm_name=self._options.name(name),
            alarm_description=about,
            metric=metric,
            threshold=threshold,
            evaluation_periods=times,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(self._action)

    def _dashboard(
        self, functions: tuple[PackagedFunction, ...], storage: Storage, queues: dict[str, sqs.Queue]
    ) -> None:
        lambdas = [function.function for function in functions]
        waiting = storage.uploads.metric_approximate_number_of_messages_visible()
        rows = {
            "Incidents": [
                _incidents(name) for name in ("LlmCalls", "CircuitBreakerDeferred", "Errors", "WatchdogClosed")
            ],
            "Tokens": [_incidents("TotalTokens")],
            "Uploads waiting": [waiting],
            "Dead letters": [_depth(queue) for queue in queues.values()],
            "Errors": [each.metric_errors() for each in lambdas],
            "Throttles": [each.metric_throttles() for each in lambdas],
            "Duration, 95 of 100": [each.metric_duration(statistic="p95") for each in lambdas],
        }
        cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=self._options.name("overview"),
            widgets=[[cloudwatch.GraphWidget(title=title, left=list(left), width=12)] for title, left in rows.items()],
        )


def _incidents(name: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(namespace=NAMESPACE, metric_name=name, statistic="Sum", period=Duration.minutes(5))


def _depth(queue: sqs.Queue) -> cloudwatch.Metric:
    return queue.metric_approximate_number_of_messages_visible(statistic="Maximum")
