"""Builds the token verifier of the OAuth issuer that settings name."""

from mcp.server.auth.provider import TokenVerifier

from affidavit.entrypoints.http.auth import JwtVerifier
from affidavit.errors import InputRefused
from affidavit.settings import Settings


def issuer_verifiers(settings: Settings) -> tuple[TokenVerifier, ...]:
    """Empty without an issuer. Raises InputRefused when tokens for any audience would be let in."""
    issuer = settings.mcp_oauth_issuer
    if not issuer:
        return ()
    if not settings.mcp_oauth_audience:
        raise InputRefused(
            "an OAuth issuer needs an audience",
            hint="set --oauth-audience or MCP_OAUTH_AUDIENCE to what tokens for this server name",
        )
    return (JwtVerifier(issuer=issuer, audience=settings.mcp_oauth_audience, jwks_url=settings.mcp_oauth_jwks),)
