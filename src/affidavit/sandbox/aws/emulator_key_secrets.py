"""The keys that the emulator handed out, read in its own process: ours, those of roles, users and functions."""

import hashlib
import hmac
import os
from typing import Any

from ministack.core import iam_evaluator, lambda_runtime  # pyright: ignore[reportMissingTypeStubs] - it ships none
from ministack.services import sts  # pyright: ignore[reportMissingTypeStubs] - it ships none

from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.access.signatures import RequestSignature, secret_among

_emulator: Any = iam_evaluator
_sessions: Any = sts


def secret_of(signature: RequestSignature) -> str | None:
    """The emulator takes `test` and every account number for its owner; here its owner has one key."""
    if _emulator.is_root_access_key(signature.access_key):
        return secret_among(SandboxKeys.of_environment(os.environ))(signature)
    found = _emulator.resolve_credential(signature.access_key, session_token=signature.token)
    return getattr(found, "secret_access_key", None)


def give_functions_random_keys() -> None:
    """The emulator derives a function's secret from its name, which anybody can do. Call before a function runs."""
    lambda_runtime.execution_credentials = _execution_keys


def _execution_keys(config: dict[str, Any]) -> dict[str, str]:
    """Keys of a session of the function's role; the same ones for every worker of the function."""
    function, role = config["FunctionArn"], config["Role"]
    name, session = role.rsplit("/", 1)[-1], config["FunctionName"][:64]
    access_key = f"ASIA{_derived(f'key:{function}:{role}')[:16].upper()}"
    secret_key, token = (_derived(f"{kind}:{function}:{role}") for kind in ("secret", "token"))
    described = {
        "Arn": f"arn:aws:sts::{function.split(':')[4]}:assumed-role/{name}/{session}",
        "UserId": f"{name}:{session}",
        "SecretAccessKey": secret_key,
        "SessionToken": token,
    }
    _sessions.register_session(access_key, described)
    return {"AWS_ACCESS_KEY_ID": access_key, "AWS_SECRET_ACCESS_KEY": secret_key, "AWS_SESSION_TOKEN": token}


def _derived(text: str) -> str:
    """From the secret of this start, so that nobody without it can work it out."""
    start = os.environ["AWS_SECRET_ACCESS_KEY"].encode()
    return hmac.new(start, text.encode(), hashlib.sha256).hexdigest()
