"""Clients for adapters that must reach the emulator whatever the environment says."""

from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.sandbox.aws.resources import Account


class EmulatorClients(AwsClients):
    def __init__(self, account: Account) -> None:
        super().__init__(account.region)
        self._account = account
        self._made: dict[str, Any] = {}

    def client(self, service: str, *, region: str | None = None, attempts: int = 1) -> Any:
        if service not in self._made:
            self._made[service] = self._account.client(service)
        return self._made[service]
