"""Reads any state of an account by its read operations, and refuses every other operation."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import code_of, translated
from affidavit.errors import InvariantBroken, NotFound
from affidavit.ports.json import Item, JsonValue

READING = ("get_", "list_", "describe_", "lookup_", "simulate_")
_GONE = {
    "NoSuchEntity",
    "NoSuchEntityException",
    "NotFoundException",
    "InvalidGroup.NotFound",
    "InvalidNetworkAclID.NotFound",
    "InvalidRouteTableID.NotFound",
    "InvalidSubnetID.NotFound",
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDoesNotExist",
    "InvalidDocument",
    "InvalidDocumentVersion",
}


class AwsStateReader:
    """A `StateReader`."""

    def __init__(self, clients: AwsClients) -> None:
        self._clients = clients

    def read(self, service: str, operation: str, **parameters: JsonValue) -> Item:
        _check_reads(operation)
        try:
            with translated(f"{service} {operation}"):
                return _plain(getattr(self._clients.client(service), operation)(**parameters))
        except Exception as error:
            _raise_if_gone(error, f"{service} {operation}")
            raise

    def read_all(self, service: str, operation: str, key: str, **parameters: JsonValue) -> Sequence[JsonValue]:
        _check_reads(operation)
        try:
            with translated(f"{service} {operation}"):
                pages = self._clients.client(service).get_paginator(operation).paginate(**parameters)
                return [entry for page in pages for entry in _plain(page).get(key, [])]
        except Exception as error:
            _raise_if_gone(error, f"{service} {operation}")
            raise


def _check_reads(operation: str) -> None:
    if not operation.startswith(READING):
        raise InvariantBroken(f"{operation} does not read", hint="changes are made by the executor alone")


def _raise_if_gone(error: Exception, thing: str) -> None:
    cause = error.__cause__
    if isinstance(cause, ClientError) and code_of(cause) in _GONE:
        raise NotFound(f"{thing}: there is no such thing", hint="check the name and the region") from error


def _plain(raw: Any) -> dict[str, Any]:
    """The answer as JSON; decimals and bytes do not occur in what is read here."""
    answer: dict[str, Any] = json.loads(json.dumps(raw, default=_text))
    return {key: value for key, value in answer.items() if key != "ResponseMetadata"}


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
