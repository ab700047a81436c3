from typing import Any

class Config:
    def __init__(
        self,
        *,
        region_name: str | None = None,
        connect_timeout: float = 60,
        read_timeout: float = 60,
        retries: dict[str, Any] | None = None,
        max_pool_connections: int = 10,
        s3: dict[str, Any] | None = None,
        signature_version: str | None = None,
        user_agent_extra: str | None = None,
    ) -> None: ...
