"""Checks a deployment one part at a time. A part that could not be checked is reported as unknown, never as good."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.deploy.stacks import Stacks
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import AffidavitError, NotFound
from affidavit.settings import secret_settings

# Twenty bundles and some incidents at once, with room for everything else in the account.
ENOUGH_CONCURRENCY = 100
_GOOD_STACK = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
# As the templates name them: below each lie the secret settings of one function.
_SECRETS = ("/incident-response/supervisor", "/incident-response/hooks", "/incident-response/console")
_DEAD = ("affidavit-uploads-dead", "affidavit-incidents-dead", "affidavit-alerts-undelivered")


class CheckResult(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkup:
    subject: str
    verdict: CheckResult
    said: str
    todo: str = ""


@dataclass(frozen=True, kw_only=True)
class Doctor:
    clients: AwsClients
    key_parameter: str
    chat_provider: str
    chat_model_id: str

    def examine(self) -> Iterator[Checkup]:
        """Without credentials nothing else can be asked."""
        account = self._asked("credentials", self._credentials)
        yield account
        if account.verdict is not CheckResult.OK:
            return
        checks: Mapping[str, Callable[[], Checkup]] = {
            "Lambda concurrency": self._concurrency,
            "chat model": self._chat_model,
            "stacks": self._stacks,
            "server key": self._server_key,
            "secrets": self._secrets,
            "people": self._people,
            "dead letters": self._dead_letters,
        }
        for subject, check in checks.items():
            yield self._asked(subject, check)

    def _asked(self, subject: str, check: Callable[[], Checkup]) -> Checkup:
        try:
            return check()
        except AffidavitError as error:
            verdict = CheckResult.FAIL if subject == "credentials" else CheckResult.UNKNOWN
            return Checkup(subject=subject, verdict=verdict, said=str(error), todo=error.hint)

    def _credentials(self) -> Checkup:
        with translated("the caller's account"):
            who = self.clients.client("sts").get_caller_identity()
        said = f"account {who['Account']} as {who['Arn'].rpartition(':')[2]}, region {self.clients.region}"
        return Checkup(subject="credentials", verdict=CheckResult.OK, said=said)

    def _concurrency(self) -> Checkup:
        with translated("limits of Lambda"):
            limit = self.clients.client("lambda").get_account_settings()["AccountLimit"]
        most = int(limit["UnreservedConcurrentExecutions"])
        is_enough = most >= ENOUGH_CONCURRENCY
        return Checkup(
            subject="Lambda concurrency",
            verdict=CheckResult.OK if is_enough else CheckResult.WARN,
            said=f"{most} functions may run at once",
            todo="" if is_enough else "ask Service Quotas for more concurrent executions, or lower the indexer's share",
        )

    def _chat_model(self) -> Checkup:
        if self.chat_provider == "offline":
            said = "rules alone diagnose; no chat model is asked"
            return Checkup(subject="chat model", verdict=CheckResult.OK, said=said)
        if not self.chat_model_id:
            todo = "set CHAT_MODEL_ID to an inference profile, and ChatModelId and BedrockModelArns of the stack"
            return Checkup(subject="chat model", verdict=CheckResult.FAIL, said="none is named", todo=todo)
        try:
            self._ask_model()
        except NotFound:
            todo = "choose one that this region has; newer models take inference profiles only"
            return Checkup(
                subject="chat model", verdict=CheckResult.FAIL, said=f"there is no {self.chat_model_id}", todo=todo
            )
        said = f"{self.chat_model_id} answered"
        return Checkup(subject="chat model", verdict=CheckResult.OK, said=said)

    def _ask_model(self) -> None:
        """Access is proven by using it: one token."""
        with translated(f"chat model {self.chat_model_id}"):
            self.clients.client("bedrock-runtime", attempts=1).converse(
                modelId=self.chat_model_id,
                messages=[{"role": "user", "content": [{"text": "ok"}]}],
                inferenceConfig={"maxTokens": 1},
            )

    def _stacks(self) -> Checkup:
        stacks = Stacks(self.clients)
        found = {name: stacks.status(f"Affidavit{name}") for name in ("Storage", "State", "NodeLogs", "Supervisor")}
        if all(status is None for status in found.values()):
            return Checkup(
                subject="stacks", verdict=CheckResult.WARN, said="none is deployed", todo="affidavit deploy apply"
            )
        bad = {name: status for name, status in found.items() if status not in _GOOD_STACK}
        said = ", ".join(f"{name} {status or 'missing'}" for name, status in (bad or found).items())
        return Checkup(
            subject="stacks",
            verdict=CheckResult.FAIL if bad else CheckResult.OK,
            said=said,
            todo="affidavit deploy apply; the events of the stack say what went wrong" if bad else "",
        )

    def _server_key(self) -> Checkup:
        try:
            with translated(f"parameter {self.key_parameter}"):
                found = self.clients.client("ssm").get_parameter(Name=self.key_parameter)["Parameter"]
        except NotFound:
            said = f"there is no {self.key_parameter}"
            return Checkup(
                subject="server key", verdict=CheckResult.WARN, said=said, todo="affidavit deploy apply makes it"
            )
        is_secure = found["Type"] == "SecureString"
        return Checkup(
            subject="server key",
            verdict=CheckResult.OK if is_secure else CheckResult.FAIL,
            said=f"{self.key_parameter} is a {found['Type']}",
            todo="" if is_secure else "delete it; affidavit deploy apply makes it as a SecureString",
        )

    def _secrets(self) -> Checkup:
        """Names and kinds; no value is asked for."""
        with translated("the stored secrets"):
            found = [
                one for path in _SECRETS for one in self._all("ssm", "get_parameters_by_path", "Parameters", Path=path)
            ]
        plain = [str(one["Name"]) for one in found if one["Type"] != "SecureString"]
        unknown = [str(one["Name"]) for one in found if str(one["Name"]).rpartition("/")[2] not in secret_settings()]
        troubles = [f"{name} is not a SecureString" for name in plain] + [f"no setting is {name}" for name in unknown]
        return Checkup(
            subject="secrets",
            verdict=CheckResult.FAIL if troubles else CheckResult.OK,
            said="; ".join(troubles) or f"{len(found)} stored",
            todo="delete it; docs/deploy.md says how to store a secret" if troubles else "",
        )

    def _people(self) -> Checkup:
        """A topic that nobody reads is an alarm that nobody hears."""
        with translated("the topic for people"):
            topics = [each["TopicArn"] for each in self._all("sns", "list_topics", "Topics")]
        topic = next((arn for arn in topics if arn.endswith(":affidavit-people")), None)
        if topic is None:
            return Checkup(
                subject="people", verdict=CheckResult.WARN, said="there is no topic yet", todo="affidavit deploy apply"
            )
        with translated("subscriptions of the topic for people"):
            known = self._all("sns", "list_subscriptions_by_topic", "Subscriptions", TopicArn=topic)
        confirmed = [each for each in known if str(each["SubscriptionArn"]).startswith("arn:")]
        todo = f"aws sns subscribe --topic-arn {topic} --protocol email --notification-endpoint YOU, then confirm"
        return Checkup(
            subject="people",
            verdict=CheckResult.OK if confirmed else CheckResult.FAIL,
            said=f"{len(confirmed)} confirmed subscription(s), {len(known) - len(confirmed)} waiting",
            todo="" if confirmed else todo,
        )

    def _dead_letters(self) -> Checkup:
        sqs, counts = self.clients.client("sqs"), dict[str, int]()
        for name in _DEAD:
            with translated(f"queue {name}"):
                url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
                found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
            counts[name] = int(found["Attributes"]["ApproximateNumberOfMessages"])
        dead = {name: count for name, count in counts.items() if count}
        return Checkup(
            subject="dead letters",
            verdict=CheckResult.WARN if dead else CheckResult.OK,
            said=", ".join(f"{count} in {name}" for name, count in dead.items()) or "none",
            todo="read their reasons; docs/deploy.md says how to send them again" if dead else "",
        )

    def _all(self, service: str, operation: str, key: str, **asked: Any) -> list[Any]:
        pages = self.clients.client(service).get_paginator(operation).paginate(**asked)
        return [entry for page in pages for entry in page.get(key, [])]
