"""Scopes of a token, whatever its issuer wrote there."""

import asyncio
from typing import Any

import pytest

from affidavit.entrypoints.http.auth import JwtVerifier


@pytest.mark.parametrize("scope", [7, True, {"a": 1}, None])
def test_a_token_whose_scope_is_no_text_is_refused(scope: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = JwtVerifier(issuer="https://issuer.example", audience="x")
    claims = {"sub": "ann", "exp": 9_999_999_999, "scope": scope}
    monkeypatch.setattr(JwtVerifier, "_claims", lambda _self, _token: claims)
    assert asyncio.run(verifier.verify_token("token")) is None


@pytest.mark.parametrize("scope", ["a b", ["a", "b"]])
def test_scopes_are_text_or_a_list(scope: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = JwtVerifier(issuer="https://issuer.example", audience="x")
    monkeypatch.setattr(JwtVerifier, "_claims", lambda _s, _t: {"sub": "ann", "exp": 9_999_999_999, "scope": scope})
    found = asyncio.run(verifier.verify_token("token"))
    assert found is not None and found.scopes == ["a", "b"]
