"""Records a running sandbox in a file, so that other commands find it."""

import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from affidavit.errors import Conflict, InputRefused, NotFound, UpstreamFailed
from affidavit.sandbox.about_endpoint import IDENTITY_PATH
from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.access.private_files import private_file

STATE_FILE = "sandbox.json"
STOP_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """`people` are the keys of those who approve repairs, as variables, by name."""

    pid: int
    environment: Mapping[str, str]
    people: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    def environment_of(self, person: str) -> Mapping[str, str]:
        """Raises InputRefused for somebody whom the sandbox does not know."""
        if person not in self.people:
            known = ", ".join(self.people) or "nobody"
            raise InputRefused(f"the sandbox knows no {person!r}", hint=f"it knows {known}")
        return {**self.environment, **self.people[person]}

    @property
    def url(self) -> str:
        return self.environment["AWS_ENDPOINT_URL_SSM"]

    def identity(self) -> Mapping[str, Any] | None:
        """What it says of itself; None when it is gone, or when its port is somebody else's by now."""
        try:
            with urllib.request.urlopen(self._identity_request(), timeout=5) as answer:
                said: dict[str, Any] = json.load(answer)
        except (urllib.error.URLError, OSError, ValueError, KeyError):
            return None
        return said if said.get("pid") == self.pid else None

    def _identity_request(self) -> urllib.request.Request:
        # Loading the signer takes a while, and most commands never ask.
        from affidavit.sandbox.access.signatures import signed_headers

        url, keys = f"{self.url}{IDENTITY_PATH}", SandboxKeys.of_environment(self.environment)
        headers = signed_headers(keys, url, region=self.environment["AWS_REGION"], service="affidavit")
        return urllib.request.Request(url, headers=headers)


def running_session(data_dir: Path) -> Session | None:
    try:
        session = Session(**json.loads((data_dir / STATE_FILE).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return session if session.identity() is not None else None


def needed_session(data_dir: Path) -> Session:
    session = running_session(data_dir)
    if session is None:
        raise NotFound(f"no sandbox runs for {data_dir}", hint="start one: affidavit sandbox up --detach")
    return session


@contextmanager
def recorded(
    data_dir: Path, environment: Mapping[str, str], *, people: Mapping[str, Mapping[str, str]] | None = None
) -> Generator[Session]:
    """While this is entered, other programs of the same user find the sandbox. The file holds its keys."""
    session = Session(pid=os.getpid(), environment=environment, people=people or {})
    file = data_dir / STATE_FILE
    data_dir.mkdir(parents=True, exist_ok=True)
    written = file.with_suffix(".new")
    with private_file(written) as output:
        output.write(json.dumps(asdict(session), indent=2).encode())
    written.replace(file)
    try:
        yield session
    finally:
        file.unlink(missing_ok=True)


def refuse_second(data_dir: Path) -> None:
    if (session := running_session(data_dir)) is not None:
        raise Conflict(f"a sandbox runs already (process {session.pid})", hint="affidavit sandbox down")


def end(session: Session) -> None:
    """Asks it to stop and waits until it has."""
    with suppress(ProcessLookupError):
        os.kill(session.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while session.identity() is not None:
        if time.monotonic() > deadline:
            raise UpstreamFailed(f"the sandbox (process {session.pid}) does not stop", hint=f"kill {session.pid}")
        time.sleep(0.05)
