"""Makes clients of AWS: one per service and region, when first asked for.

An alert that was handled already is answered with one read of DynamoDB, and then the making of that client is most of
the cost. So clients come from botocore, which boto3 is a layer on; only S3's, with its file transfers, is boto3's own.
"""

import threading
from typing import Any

from botocore.config import Config

from affidavit.adapters.aws.sessions.service_models import quick_session

CONNECT_SECONDS = 3
READ_SECONDS = 20
ATTEMPTS = 3


class AwsClients:
    """One client per service and region, made when first asked for; safe to share between threads.

    Where a call goes can be changed by AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_<SERVICE>, as the sandbox does.
    """

    def __init__(self, region: str) -> None:
        self.region = region
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str, int], Any] = {}
        self._session: Any = None

    def client(self, service: str, *, region: str | None = None, attempts: int = ATTEMPTS) -> Any:
        place = (service, region or self.region, attempts)
        with self._lock:  # making a client is not thread-safe, using one is
            if place not in self._clients:
                self._session = self._session or self._new_session()
                self._clients[place] = _made(self._session, service, place[1], _config(service, attempts))
            return self._clients[place]

    def _new_session(self) -> Any:
        return quick_session()


def _made(session: Any, service: str, region: str, config: Config) -> Any:
    if service != "s3":
        return session.create_client(service, region_name=region, config=config)
    import boto3

    return boto3.Session(botocore_session=session).client(service, region, config=config)


def _config(service: str, attempts: int) -> Config:
    return Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        # `max_attempts` would not count the first one.
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=32,
        # Presigned links to objects under a KMS key need it.
        signature_version="s3v4" if service == "s3" else None,
    )
