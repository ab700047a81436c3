"""Blocks a function's connections when its emulated VPC allows no way out: the emulator has no packets.

A function of the sandbox reaches AWS through the gate. While security groups, network ACLs or routes let nothing out,
connections to the gate time out, as they would in a real VPC.
"""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from affidavit.errors import AffidavitError
from affidavit.ports.workload_inspector import WorkloadInspector
from affidavit.workloads.network import network_state
from affidavit.workloads.wire import NaclRule, NetworkStateResponse, SubnetState

LOOK_SECONDS = 0.3
HTTPS = 443
BACKLOG = 64
# With a backlog of 0 the kernel keeps one connection waiting and drops the first packet of every further one.
WAITING = 2


class VpcGate:
    def __init__(self, upstream: tuple[str, int], is_open: Callable[[], bool]) -> None:
        self._upstream, self._is_open = upstream, is_open
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self._listener.settimeout(LOOK_SECONDS)
        self._address: tuple[str, int] = self._listener.getsockname()
        self._stopping, self._shut = threading.Event(), threading.Event()
        self._fillers: list[socket.socket] = []
        self._pipes: set[socket.socket] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._address[1]}"

    @property
    def is_shut(self) -> bool:
        return self._shut.is_set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._listener.close()
        for pipe in [*self._fillers, *self._pipes]:
            pipe.close()

    def _serve(self) -> None:
        looked = 0.0
        while not self._stopping.is_set():
            # Looking takes some calls, so it is done now and then and not for every connection.
            if time.monotonic() - looked > LOOK_SECONDS:
                (self._open if self._may_leave() else self._close)()
                looked = time.monotonic()
            if self.is_shut:
                self._stopping.wait(LOOK_SECONDS)
            else:
                self._take_one()

    def _may_leave(self) -> bool:
        try:
            return self._is_open()
        except AffidavitError:
            return not self.is_shut  # unknown: stay as we are

    def _take_one(self) -> None:
        with suppress(OSError):
            inside, _ = self._listener.accept()
            outside = socket.create_connection(self._upstream, timeout=10)
            for pair in ((inside, outside), (outside, inside)):
                self._pipes.add(pair[0])
                threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        source.settimeout(None)
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._pipes.discard(source)
        source.close()

    def _close(self) -> None:
        if self.is_shut or self._stopping.is_set():
            return
        self._listener.listen(0)
        for _ in range(WAITING):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(self._address)
            self._fillers.append(filler)
        self._shut.set()

    def _open(self) -> None:
        if not self.is_shut or self._stopping.is_set():
            return
        self._listener.listen(BACKLOG)
        for filler in self._fillers:
            filler.close()
        self._fillers.clear()
        self._shut.clear()


def function_may_leave(inspector: WorkloadInspector, function: str) -> bool:
    """Whether a connection to port 443 of any address would get out of the function's VPC."""
    state = network_state(inspector, function)
    return not state.in_vpc or (_groups_allow(state) and all(_subnet_allows(subnet) for subnet in state.subnets))


def _groups_allow(state: NetworkStateResponse) -> bool:
    rules = [rule for group in state.security_groups for rule in group.egress]
    return any(_covers(rule.protocol, rule.ports) and "0.0.0.0/0" in rule.to for rule in rules)


def _subnet_allows(subnet: SubnetState) -> bool:
    return subnet.has_default_route is not False and _acl_allows(subnet.nacl_rules)


def _acl_allows(rules: list[NaclRule]) -> bool:
    deciding = [
        rule
        for rule in sorted(rules, key=lambda rule: rule.number)
        if rule.direction == "egress" and rule.cidr == "0.0.0.0/0" and _covers(rule.protocol, rule.ports)
    ]
    return not deciding or deciding[0].action == "allow"


def _covers(protocol: str, ports: str) -> bool:
    if protocol not in ("all", "tcp"):
        return False
    first, _, last = ports.partition("-")
    return ports == "all" or int(first) <= HTTPS <= int(last or first)
