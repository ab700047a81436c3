def prepare_grant_uri(
    uri: str,
    client_id: str,
    response_type: str,
    redirect_uri: str | None = None,
    scope: str | None = None,
    state: str | None = None,
    **kwargs: str,
) -> str: ...
