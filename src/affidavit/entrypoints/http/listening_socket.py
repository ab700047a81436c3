"""Opens the HTTP server's listening socket before the server announces its address."""

import errno
import os
import socket

from affidavit.errors import InputRefused


def listener(host: str, port: int) -> socket.socket:
    """Connections wait in it until they are served. Raises InputRefused when it cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            # With its protocol named asyncio sends at once; else every answer waits 40 ms for an acknowledgement.
            host,
            port,
            type=socket.SOCK_STREAM,
            proto=socket.IPPROTO_TCP,
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise InputRefused(f"{host!a} is no address", hint="give another --host") from error
    taken = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # A port that a server left a moment ago can be taken at once; one that is listened on still cannot.
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
        taken.listen(socket.SOMAXCONN)
    except OSError as error:
        taken.close()
        raise _refused(host, port, error) from error
    return taken


def _refused(host: str, port: int, error: OSError) -> InputRefused:
    if error.errno == errno.EADDRINUSE:
        return InputRefused(f"port {port} is taken on {host}", hint="stop what listens there, or give another --port")
    if error.errno == errno.EACCES:
        return InputRefused(f"port {port} is not for this user", hint="give a --port from 1024 on")
    if error.errno == errno.EADDRNOTAVAIL:
        return InputRefused(f"{host} is no address of this machine", hint="give another --host, such as 127.0.0.1")
    return InputRefused(f"{host}, port {port} cannot be listened on: {error.strerror}", hint="give another --port")
