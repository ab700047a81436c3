"""The AWS keys of one start of the sandbox: random, so that only programs that were given them get in."""

import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

_LETTERS = string.ascii_uppercase + "234567"


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxKeys:
    access_key: str
    secret_key: str = field(repr=False)

    @classmethod
    def new(cls) -> Self:
        name = "".join(secrets.choice(_LETTERS) for _ in range(16))
        return cls(access_key=f"AKIA{name}", secret_key=secrets.token_hex(20))

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Self:
        return cls(access_key=environment["AWS_ACCESS_KEY_ID"], secret_key=environment["AWS_SECRET_ACCESS_KEY"])

    @property
    def environment(self) -> dict[str, str]:
        """The variables that hand these keys to a program. An empty token hides one of a real account."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_SESSION_TOKEN": "",
        }
