"""Tables in DynamoDB: `pk`, `sk`, TTL attribute `ttl`, and the index `due` on `due` and `due_at`."""

import random
import time
import uuid
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, assert_never

from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import code_of, translate, translated
from affidavit.adapters.aws.storage.attribute_values import from_attributes, to_attribute, to_attributes, to_key
from affidavit.adapters.aws.storage.expressions import Expressions
from affidavit.adapters.dynamodb_item_limits import (
    check_key,
    check_transaction,
    check_write,
    is_expired,
    key_of,
    normal,
)
from affidavit.errors import AffidavitError, InputRefused, InvariantBroken, Throttled, UpstreamFailed
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item
from affidavit.ports.table import ConditionFailed, Delete, Key, Put, Update, Write

DUE_INDEX = "due"
ATTEMPTS = 6
_CHECK_FAILED = {"ConditionalCheckFailed", "ConditionalCheckFailedException"}
_CANCELED = "TransactionCanceledException"
# Another transaction holds the item, or the table has no room; nothing was written. But a transaction in progress is
# our own, sent before with the same token: it may still be applied.
_CONTENDED = {
    "TransactionConflict",
    "TransactionConflictException",
    "TransactionInProgressException",
    "ThrottlingError",
    "ProvisionedThroughputExceeded",
}


class DynamoTable:
    """A single write is sent once: were it sent again after a lost answer, the writer would lose against itself, or
    count twice. What is known not to have been applied is tried again; else UpstreamFailed leaves the outcome open,
    and the writer's condition decides. Transactions carry a token that makes sending them again harmless.
    """

    def __init__(self, clients: AwsClients, name: str, clock: Clock) -> None:
        self._clients, self._name, self._clock = clients, name, clock

    @property
    def name(self) -> str:
        return self._name

    def get(self, key: Key) -> Item | None:
        check_key(key)
        with translated(f"table {self._name}"):
            answer = self._reader.get_item(TableName=self._name, Key=to_key(key), ConsistentRead=True)
        return self._live(answer.get("Item"))

    def write(self, write: Write) -> Item | None:
        check_write(write)
        for attempt in range(ATTEMPTS):
            with translated(f"table {self._name}"):
                try:
                    return self._send(write)
                except ClientError as error:
                    self._recover(write, error, attempt)
                except (EndpointConnectionError, ConnectTimeoutError):
                    if attempt + 1 == ATTEMPTS:
                        raise
                    _pause(attempt)
        raise _contended(self._name)

    def write_all(self, writes: Sequence[Write]) -> None:
        check_transaction(writes, self)
        transaction = self._transaction(writes)
        for attempt in range(ATTEMPTS):
            with translated(f"table {self._name}"):
                try:
                    self._reader.transact_write_items(**transaction)
                    return
                except ClientError as error:
                    self._recover_all(writes, error, attempt)
                    if code_of(error) == _CANCELED:
                        transaction = self._transaction(writes)
        raise _contended(self._name)

    def query(
        self, pk: str, *, sk_prefix: str = "", newest_first: bool = False, limit: int | None = None, after: str = ""
    ) -> Sequence[Item]:
        values = {":pk": to_attribute(pk)} | ({":sk": to_attribute(sk_prefix)} if sk_prefix else {})
        pages = self._pages(
            KeyConditionExpression="pk = :pk" + (" AND begins_with(sk, :sk)" if sk_prefix else ""),
            ExpressionAttributeValues=values,
            ScanIndexForward=not newest_first,
            ConsistentRead=True,
            **({"Limit": limit} if limit else {}),
            **({"ExclusiveStartKey": {"pk": to_attribute(pk), "sk": to_attribute(after)}} if after else {}),
        )
        return list(islice(pages, limit))

    def due_before(self, due: str, at: float, *, limit: int = 100) -> Sequence[Item]:
        pages = self._pages(
            IndexName=DUE_INDEX,
            KeyConditionExpression="due = :due AND due_at <= :at",
            ExpressionAttributeValues={":due": to_attribute(due), ":at": to_attribute(at)},
            Limit=limit,
        )
        return list(islice(pages, limit))

    @property
    def _reader(self) -> Any:
        return self._clients.client("dynamodb")

    @property
    def _writer(self) -> Any:
        return self._clients.client("dynamodb", attempts=1)

    def _pages(self, **arguments: Any) -> Iterator[Item]:
        with translated(f"table {self._name}"):
            pages = self._reader.get_paginator("query").paginate(TableName=self._name, **arguments)
            for page in pages:
                yield from (item for found in page["Items"] if (item := self._live(found)) is not None)

    def _send(self, write: Write) -> Item | None:
        kind, request = self._request(write)
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        match kind:
            case "Put":
                self._writer.put_item(**request)
                return from_attributes(request["Item"])
            case "Delete":
                self._writer.delete_item(**request)
                return None
            case _:
                return from_attributes(self._writer.update_item(**request, ReturnValues="ALL_NEW")["Attributes"])

    def _recover(self, write: Write, error: ClientError, attempt: int) -> None:
        """Returns when the write is worth another attempt, else raises."""
        code = code_of(error)
        if code in _CHECK_FAILED:
            return self._lost(write, error.response.get("Item"))
        if code == "ValidationException":
            raise _invalid(error, self._name) from error
        if code not in _CONTENDED and not isinstance(translate(error, self._name), Throttled):
            raise error
        if attempt + 1 == ATTEMPTS:
            raise error
        return _pause(attempt)

    def _recover_all(self, writes: Sequence[Write], error: ClientError, attempt: int) -> None:
        reasons: list[dict[str, Any]] = error.response.get("CancellationReasons") or []
        codes = {reason.get("Code") for reason in reasons}
        if not reasons or codes.isdisjoint(_CHECK_FAILED):
            if "ValidationError" in codes:
                raise _invalid(error, self._name) from error
            return self._recover_contended(writes, error, codes, attempt)
        for write, reason in zip(writes, reasons, strict=True):
            if reason.get("Code") in _CHECK_FAILED:
                self._lost(write, reason.get("Item"))
        return None

    def _recover_contended(
        self, writes: Sequence[Write], error: ClientError, codes: set[str | None], attempt: int
    ) -> None:
        if codes.isdisjoint(_CONTENDED):
            return self._recover(writes[0], error, attempt)
        return _pause(attempt)

    def _lost(self, write: Write, attributes: dict[str, Any] | None) -> None:
        """Raises ConditionFailed, unless an expired item stood in an update's way: that one is removed."""
        existing = self._live(attributes)
        if isinstance(write, Update) and attributes and existing is None:
            return self._remove_expired((write.table or self).name, write.key)
        key = key_of(write)
        raise ConditionFailed(f"{self._name} {key.pk} {key.sk} is not as the writer thought", existing=existing)

    def _remove_expired(self, name: str, key: Key) -> None:
        expressions = Expressions(self._now())
        condition = expressions.expired_only()
        try:
            self._writer.delete_item(
                TableName=name, Key=to_key(key), ConditionExpression=condition, **expressions.arguments()
            )
        except ClientError as error:
            if code_of(error) not in _CHECK_FAILED | _CONTENDED:
                raise

    def _transaction(self, writes: Sequence[Write]) -> dict[str, Any]:
        """Until it is known to be canceled, the very same is sent again: only so does its token make that harmless."""
        items = [self._transact_request(write) for write in writes]
        return {"TransactItems": items, "ClientRequestToken": str(uuid.uuid4())}

    def _transact_request(self, write: Write) -> dict[str, Any]:
        kind, request = self._request(write)
        return {kind: {**request, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}

    def _request(self, write: Write) -> tuple[str, dict[str, Any]]:
        expressions, table = Expressions(self._now()), {"TableName": (write.table or self).name}
        match write:
            case Put(item=item):
                what = {"Item": to_attributes({name: normal(value) for name, value in item.items()})}
            case Delete(key=key):
                what = {"Key": to_key(key)}
            case Update(key=key):
                changes = expressions.update(write)
                what = {"Key": to_key(key), **({"UpdateExpression": changes} if changes else {})}
            case _:
                assert_never(write)
        condition = self._condition(expressions, write)
        return type(write).__name__, {**table, **what, **condition, **expressions.arguments()}

    def _condition(self, expressions: Expressions, write: Write) -> dict[str, str]:
        if isinstance(write, Update):
            return {"ConditionExpression": expressions.update_condition(write.when)}
        return {} if write.when is None else {"ConditionExpression": expressions.condition(write.when)}

    def _live(self, attributes: dict[str, Any] | None) -> Item | None:
        item = from_attributes(attributes) if attributes else None
        return None if item is None or is_expired(item, self._now()) else item

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _pause(attempt: int) -> None:
    time.sleep(random.uniform(0, 0.05 * 2**attempt))


def _invalid(error: ClientError, name: str) -> AffidavitError:
    text = str(error.response)
    if "size" in text.lower():
        return InputRefused(f"table {name}: the item is too large", hint="keep the long part in the object store")
    return InvariantBroken(f"table {name}: DynamoDB does not take this {error.operation_name}")


def _contended(name: str) -> UpstreamFailed:
    return UpstreamFailed(f"table {name}: many write one item at once", hint="try again", is_retryable=True)
