"""Gives a hint when AWS cannot be reached because of a sandbox: one that runs but is not used, or one that is gone."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from affidavit.errors import AffidavitError, InputRefused, UpstreamFailed

USE_IT = 'eval "$(affidavit sandbox env)"'
RUNS_UNSEEN = f"a sandbox runs for this folder; to use it in this shell: {USE_IT} — or log in to AWS"
IS_GONE = (
    "AWS_ENDPOINT_URL names this machine, and nothing answers there: the sandbox is gone. Start one "
    f"(affidavit sandbox up --detach) and {USE_IT}; or go on in a new shell without its variables"
)
# Matched by name, because only adapters may import botocore. No other errors have these names.
_WITHOUT_LOGIN = frozenset({"NoCredentialsError"})
_OUT_OF_REACH = frozenset({"EndpointConnectionError", "ConnectTimeoutError", "ConnectionClosedError"})


def hint_of(error: AffidavitError) -> str:
    """The error's own hint, unless a sandbox explains it better."""
    if not isinstance(error, UpstreamFailed):
        return error.hint
    causes = {type(one).__name__ for one in _causes(error)}
    if causes & _OUT_OF_REACH and _is_this_machine(os.environ):
        return IS_GONE
    return RUNS_UNSEEN if causes & _WITHOUT_LOGIN and _is_running() else error.hint


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause = error.__cause__
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _is_this_machine(environment: Mapping[str, str]) -> bool:
    return urlsplit(environment.get("AWS_ENDPOINT_URL", "")).hostname in ("127.0.0.1", "localhost", "::1")


def _is_running() -> bool:
    from affidavit.sandbox.session_file import running_session
    from affidavit.settings import Settings

    try:
        data_dir: Path = Settings.from_environment().data_dir
        return running_session(data_dir.absolute()) is not None
    except (InputRefused, OSError):
        return False
