"""The socket of the HTTP server: had, or refused with what to do instead."""

import socket

import pytest

from affidavit.entrypoints.http.listening_socket import listener
from affidavit.errors import InputRefused


def test_a_port_that_is_listened_on_is_refused_and_free_again_afterwards() -> None:
    with listener("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(InputRefused, match=f"port {port} is taken on 127.0.0.1"):
            listener("127.0.0.1", port)
    with listener("127.0.0.1", port) as again, socket.create_connection(again.getsockname(), timeout=5):
        assert again.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("host", ["192.0.2.1", "a..b"])
def test_an_address_that_is_not_of_this_machine_is_refused(host: str) -> None:
    with pytest.raises(InputRefused, match="is no address"):
        listener(host, 0)
