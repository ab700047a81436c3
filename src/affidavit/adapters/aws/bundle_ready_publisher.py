"""Tells the supervisor, through the topic that alerts come in by, that a bundle of a node can be queried now."""

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.incidents.intake.event_reader import bundle_news


class SnsBundleNews:
    def __init__(self, clients: AwsClients, topic_arn: str) -> None:
        self._clients, self._topic_arn = clients, topic_arn

    def tell(self, instance_id: str) -> None:
        with translated(f"news of a bundle of {instance_id}"):
            self._clients.client("sns").publish(TopicArn=self._topic_arn, Message=bundle_news(instance_id))
