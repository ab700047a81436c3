"""Names of resources that policy documents speak of."""

import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field

from affidavit.ports.json import Item

BUCKET = re.compile(r"^arn:aws[a-z-]*:s3:::(?P<bucket>[a-z0-9.-]{3,63})(?:/|$)")


class _Statement(BaseModel):
    model_config = ConfigDict(extra="ignore")

    Resource: str | list[str] = Field(default_factory=list[str])


class _Policy(BaseModel):
    model_config = ConfigDict(extra="ignore")

    Statement: _Statement | list[_Statement] = Field(default_factory=list[_Statement])


def bucket_arns(document: Item) -> Iterator[str]:
    for resource in _resources(document):
        if match := BUCKET.match(resource):
            yield resource[: match.end("bucket")]


def database_user_arns(documents: Sequence[Item], role_arn: str, user: str) -> list[str]:
    """What a role may log in to as this database user: as its policies name it, else any database of the account.

    A refusal names no database, and the simulator compares names letter for letter.
    """
    listed = [one for document in documents for one in _resources(document) if ":rds-db:" in one]
    named = [one for one in listed if one.endswith((f"/{user}", "/*"))]
    parts = [*role_arn.split(":"), "", "", "", "", ""]
    region = next((one.split(":")[3] for one in listed if one.count(":") > 3), "*")
    return list(dict.fromkeys(named)) or [f"arn:{parts[1]}:rds-db:{region}:{parts[4]}:dbuser:*/{user}"]


def _resources(document: Item) -> Iterator[str]:
    statements = _Policy.model_validate(document).Statement
    for statement in statements if isinstance(statements, list) else [statements]:
        yield from [statement.Resource] if isinstance(statement.Resource, str) else statement.Resource
