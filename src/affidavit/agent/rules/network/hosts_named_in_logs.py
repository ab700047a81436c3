"""Finds the hosts, addresses and ports that a function tried to reach, in its logs."""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

_URL = re.compile(r"\b(?P<scheme>[a-z][a-z0-9+]*)://(?:[^@/\s\"']*@)?(?P<host>[\w.-]+)(?::(?P<port>\d{2,5}))?")
_PAIR = re.compile(
    r"\b(?P<host>(?:\d{1,3}\.){3}\d{1,3}|[a-z0-9-]+(?:\.[a-z0-9-]+)+):(?P<port>\d{2,5})\b", re.IGNORECASE
)
_SERVER = re.compile(r"server at \"(?P<host>[\w.-]+)\"(?: \((?P<ip>[\d.]+)\))?, port (?P<port>\d+)")
_KEYED = re.compile(
    r"host(?:name)?[\"']?\s*[=:]\s*[\"']?(?P<host>[\w-]+(?:\.[\w-]+)+)[\"']?,?\s*(?:port[=:]\s*(?P<port>\d+))?"
)
_ON_PORT = re.compile(
    r"\b(?P<host>(?:\d{1,3}\.){3}\d{1,3}|[a-z0-9-]+(?:\.[a-z0-9-]+)+),? "
    r"(?:on |at |using )?port[ =:]+(?P<port>\d{2,5})\b",
    re.IGNORECASE,
)
_LOOKED_UP = re.compile(
    r"(?:ENOTFOUND|EAI_AGAIN|UnknownHostException:|lookup|host name \") ?(?P<host>[\w-]+(?:\.[\w-]+)+)"
)
_PORTS = {
    "https": 443,
    "http": 80,
    "redis": 6379,
    "rediss": 6379,
    "amqp": 5672,
    "amqps": 5671,
    "mongodb": 27017,
    "postgres": 5432,
    "postgresql": 5432,
    "mysql": 3306,
    "s3": 443,
}
HTTPS = 443
_INSIDE = (
    ".internal",
    ".local",
    ".corp",
    ".kafka.",
    ".rds.amazonaws.com",
    ".cache.amazonaws.com",
    ".docdb.amazonaws.com",
    ".neptune.amazonaws.com",
    ".redshift.amazonaws.com",
)


@dataclass(frozen=True, kw_only=True)
class Target:
    host: str
    port: int = HTTPS
    address: str | None = None
    """Its IP address, when the text gives it."""

    @property
    def is_private(self) -> bool:
        """It lies inside a private network, by its address or by its name."""
        if self.address:
            return ipaddress.ip_address(self.address).is_private
        return any(mark in self.host for mark in _INSIDE)


def targets(texts: Iterable[str]) -> list[Target]:
    found: dict[str, Target] = {}
    for text in texts:
        for pattern in (_SERVER, _URL, _PAIR, _KEYED, _ON_PORT, _LOOKED_UP):
            for match in pattern.finditer(text):
                target = _target(match.groupdict())
                if target is not None:
                    found.setdefault(target.host, target)
    return list(found.values())


def _target(told: dict[str, str | None]) -> Target | None:
    host = (told.get("host") or "").rstrip(".")
    scheme = told.get("scheme")
    if not host or (scheme and scheme not in _PORTS) or host.endswith((".py", ".js", ".java", ".mjs", ".go", ".rb")):
        return None
    address = told.get("ip") or (host if _is_address(host) else None)
    if address and (ipaddress.ip_address(address).is_loopback or address.startswith("169.254.")):
        return None
    port = told.get("port")
    return Target(host=host, port=int(port) if port else _PORTS.get(scheme or "", HTTPS), address=address)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
