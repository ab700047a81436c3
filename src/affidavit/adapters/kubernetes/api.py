"""A way into a cluster's API, and the one place where its errors become ours."""

import tempfile
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from affidavit.errors import AffidavitError, Conflict, InputRefused, NotFound, Throttled, UpstreamFailed
from affidavit.ports.cluster.api_connection import ClusterAccess, ClusterPlace, ClusterReach

Shape = TypeVar("Shape", bound=BaseModel)
CONNECT_SECONDS, READ_SECONDS = 3, 20
# A token of EKS holds for 15 minutes.
_REACH_SECONDS = 600.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ClusterApis:
    """One client a cluster, made when first asked for; safe to share between threads."""

    def __init__(self, access: ClusterAccess) -> None:
        self._access = access
        self._lock = threading.Lock()
        self._clients: dict[ClusterPlace, tuple[float, ApiCalls]] = {}

    def of(self, place: ClusterPlace) -> "ApiCalls":
        with self._lock:
            made, calls = self._clients.get(place, (0.0, None))
            if calls is None or time.monotonic() - made > _REACH_SECONDS:
                calls = ApiCalls(self._access.reach(place))
                self._clients[place] = (time.monotonic(), calls)
            return calls


class ApiCalls:
    def __init__(self, reach: ClusterReach) -> None:
        self._reach = reach
        _refuse_open_text(reach.url)

    @cached_property
    def custom(self) -> Any:
        """Calls about resources that an agent brought along."""
        from kubernetes import client

        return client.CustomObjectsApi(self._client)

    def read(self, shape: type[Shape], call: str, /, *arguments: str, **options: object) -> Shape:
        """The answer of a call of the core API in a shape of ours: the client's own refuse what a server left out."""
        asked = getattr(self._core, call)(*arguments, **options, **TIMES, _preload_content=False)
        return shape.model_validate_json(asked.data)

    @cached_property
    def _core(self) -> Any:
        from kubernetes import client

        return client.CoreV1Api(self._client)

    @cached_property
    def _client(self) -> Any:
        # Here, not above: it takes a second to load, and most incidents need none of it.
        from kubernetes import client

        settings = client.Configuration(host=self._reach.url)
        settings.api_key = {"authorization": f"Bearer {self._reach.token}"}
        settings.retries = False
        if self._reach.authority:
            settings.ssl_ca_cert = _written(self._reach.authority)
        return client.ApiClient(settings)


TIMES: Mapping[str, object] = {"_request_timeout": (CONNECT_SECONDS, READ_SECONDS)}


def _refuse_open_text(url: str) -> None:
    where = urlsplit(url)
    if where.scheme != "https" and where.hostname not in _LOOPBACK:
        raise InputRefused(
            f"the cluster's API at {where.hostname} is not served over HTTPS, so no token is sent there",
            hint="check the endpoint of the cluster",
        )


def _written(authority: str) -> str:
    """The client takes certificates from files alone."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem", delete=False) as file:
        file.write(authority)
    return str(Path(file.name))


@contextmanager
def cluster_errors(thing: str) -> Generator[None]:
    """Foreign errors leave as ours, about `thing`. The API's own text stays behind: it quotes what we sent."""
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except ApiException as error:
        raise _translated(int(error.status or 0), thing) from error
    except ValidationError as error:
        raise UpstreamFailed(
            f"{thing}: the cluster's API answered in a form that is not known here", hint="compare its version"
        ) from error
    except HTTPError as error:
        raise UpstreamFailed(
            f"{thing}: the cluster's API could not be reached ({type(error).__name__})",
            hint="check its endpoint, and whether this network may reach it",
            is_retryable=True,
        ) from error


def _translated(status: int, thing: str) -> AffidavitError:
    match status:
        case 401:
            return UpstreamFailed(f"{thing}: the cluster does not know us", hint="give our role an access entry in EKS")
        case 403:
            return UpstreamFailed(
                f"{thing}: the cluster does not allow it to us", hint="bind the ClusterRole of docs/incidents.md"
            )
        case 404:
            return NotFound(f"{thing}: the cluster has none", hint="check its name, and that the agent is installed")
        case 409:
            return Conflict(f"{thing}: somebody was faster", hint="look at what is there")
        case 410:
            return UpstreamFailed(
                f"{thing}: the list is out of date", hint="ask again from its start", is_retryable=True
            )
        case 429:
            return Throttled(f"{thing}: the cluster's API asked us to slow down")
        case _:
            return UpstreamFailed(
                f"{thing}: the cluster's API answered {status}", hint="try again", is_retryable=status >= 500
            )
