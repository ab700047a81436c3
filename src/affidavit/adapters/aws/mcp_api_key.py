"""The MCP server's bearer key, kept in SSM Parameter Store."""

import threading
import time

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import InputRefused, NotFound

CACHED_SECONDS = 300.0


class SsmApiKey:
    """Fetched on first use and kept for five minutes, so that a rotated key is noticed and a run asks once."""

    def __init__(self, clients: AwsClients, parameter: str) -> None:
        self._clients, self._parameter = clients, parameter
        self._lock = threading.Lock()
        self._known: tuple[float, str] | None = None

    def __call__(self, *, refresh: bool) -> str:
        with self._lock:
            if refresh or self._known is None or time.monotonic() - self._known[0] > CACHED_SECONDS:
                self._known = (time.monotonic(), get_mcp_api_key(self._clients, self._parameter))
            return self._known[1]


def get_mcp_api_key(clients: AwsClients, parameter: str) -> str:
    """Raises InputRefused when there is no such parameter."""
    try:
        with translated(f"the parameter {parameter}"):
            answer = clients.client("ssm").get_parameter(Name=parameter, WithDecryption=True)
    except NotFound as error:
        raise InputRefused(
            f"there is no parameter {parameter}, which holds the key of the MCP server",
            hint="make it as a SecureString, or name another one in MCP_API_KEY_PARAMETER",
        ) from error
    return str(answer["Parameter"]["Value"])
