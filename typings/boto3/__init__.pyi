"""What we use of boto3, which ships no types. A client's methods are made at run time: they stay untyped."""

from typing import Any

from botocore.config import Config
from botocore.session import Session as CoreSession

class Session:
    def __init__(self, *, region_name: str | None = None, botocore_session: CoreSession | None = None) -> None: ...
    def client(
        self,
        service_name: str,
        region_name: str | None = None,
        *,
        endpoint_url: str | None = None,
        aws_access_key_id: str | None = None,
        aws_secret_access_key: str | None = None,
        config: Config | None = None,
    ) -> Any: ...
    def get_credentials(self) -> object | None: ...
    def get_available_regions(self, service_name: str) -> list[str]: ...

def client(
    service_name: str,
    region_name: str | None = None,
    *,
    endpoint_url: str | None = None,
    aws_access_key_id: str | None = None,
    aws_secret_access_key: str | None = None,
    config: Config | None = None,
) -> Any: ...
