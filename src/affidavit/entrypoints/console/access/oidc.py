"""Log in by OpenID Connect: the code flow with PKCE. The issuer's answer becomes a person with roles."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OidcLogin:
    issuer: str
