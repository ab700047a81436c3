"""Clients that act by another role: what reads keeps its own, so that neither can do what the other may."""
# botocore ships no types for this part.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from functools import partial
from typing import Any

from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.sessions.service_models import quick_session

SESSION_NAME = "affidavit"


class RoleClients(AwsClients):
    """STS is asked when a client is first used, and again before the credentials end."""

    def __init__(self, region: str, role_arn: str) -> None:
        super().__init__(region)
        self._role_arn = role_arn

    def _new_session(self) -> Any:
        own, session = quick_session(), quick_session()
        fetcher: Any = AssumeRoleCredentialFetcher(
            client_creator=partial(own.create_client, region_name=self.region),
            source_credentials=own.get_credentials(),
            role_arn=self._role_arn,
            extra_args={"RoleSessionName": SESSION_NAME},
        )
        session._credentials = DeferredRefreshableCredentials(
            method="assume-role", refresh_using=fetcher.fetch_credentials
        )
        return session
