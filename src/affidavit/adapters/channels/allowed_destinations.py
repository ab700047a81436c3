"""Decides where a notice may be sent: only to hosts that a setting names, and to private addresses only if named so.

The address is looked up once and connected to as it is: a name that answers differently the second time gains nothing.
"""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from affidavit.errors import InputRefused, UpstreamFailed

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """Where a request goes. `target` (path and query) can hold a secret: it stands in no message."""

    host: str
    port: int
    address: str
    target: str
    is_tls: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Egress:
    """`private_hosts` may have private addresses and speak plain HTTP. Both are names in lower case."""

    hosts: frozenset[str]
    private_hosts: frozenset[str] = frozenset()

    def admit(self, url: str) -> Destination:
        """Raises InputRefused when settings do not allow it, UpstreamFailed when the name cannot be looked up."""
        parts = urlsplit(url)
        host, is_tls = (parts.hostname or "").lower(), parts.scheme == "https"
        self._check(host, parts.scheme, has_user="@" in parts.netloc)
        port = parts.port or (443 if is_tls else 80)
        query = f"?{parts.query}" if parts.query else ""
        return Destination(
            host=host,
            port=port,
            address=self._address(host, port),
            target=f"{parts.path or '/'}{query}",
            is_tls=is_tls,
        )

    def _check(self, host: str, scheme: str, *, has_user: bool) -> None:
        if host not in self.hosts | self.private_hosts:
            raise InputRefused(f"notices may not be sent to {host or 'no host'}", hint="add the host to NOTICE_HOSTS")
        if scheme != "https" and not (scheme == "http" and host in self.private_hosts):
            raise InputRefused(f"the address at {host} is not https", hint="plain HTTP is for NOTICE_PRIVATE_HOSTS")
        if has_user:
            raise InputRefused(f"the address at {host} holds a user name", hint="give secrets by their own settings")

    def _address(self, host: str, port: int) -> str:
        found = _looked_up(host, port)
        refused = [one for one in found if not _is_public(ipaddress.ip_address(one))]
        if refused and host not in self.private_hosts:
            raise InputRefused(
                f"{host} has the address {refused[0]}, which is not a public one",
                hint="if that is meant, name the host in NOTICE_PRIVATE_HOSTS",
            )
        return found[0]


def _looked_up(host: str, port: int) -> list[str]:
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UpstreamFailed(
            f"the name {host} cannot be looked up", hint="check the name, and that DNS works here", is_retryable=True
        ) from error
    return [str(answer[4][0]).partition("%")[0] for answer in answers]


def _is_public(address: _Address) -> bool:
    inner = _inner(address)
    if inner is not None:
        return _is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved


def _inner(address: _Address) -> _Address | None:
    """The IPv4 address that an IPv6 address only wraps."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
