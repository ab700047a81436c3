"""A node's serial console, as EC2 keeps it: the kernel's last words, also of an instance that is gone."""

from datetime import UTC
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import UpstreamFailed
from affidavit.ports.cluster.off_host_logs import HostQuestion, HostText

CONSOLE = "console/console_output.log"
# Only instances on the Nitro system have their newest output; others, what EC2 kept at the last start or stop.
_NO_LATEST = ("(UnsupportedOperation)", "(InvalidParameterCombination)")


class Ec2Console:
    def __init__(self, clients: AwsClients) -> None:
        self._clients = clients

    def read(self, asked: HostQuestion) -> HostText | None:
        answer = self._output(asked)
        # botocore decodes it; bytes of a broken terminal are kept as they can be.
        text = str(answer.get("Output") or "")
        if not text.strip():
            return None
        taken_at = answer["Timestamp"].astimezone(UTC)
        return HostText(files={CONSOLE: _lines(text)}, taken_at=taken_at)

    def _output(self, asked: HostQuestion) -> dict[str, Any]:
        try:
            return self._ask(asked, Latest=True)
        except UpstreamFailed as error:
            if not any(code in str(error) for code in _NO_LATEST):
                raise
        return self._ask(asked)

    def _ask(self, asked: HostQuestion, **how: bool) -> dict[str, Any]:
        with translated(f"console of {asked.instance_id}"):
            ec2 = self._clients.client("ec2", region=asked.region)
            return ec2.get_console_output(InstanceId=asked.instance_id, **how)


def _lines(text: str) -> bytes:
    """A terminal ends its lines with a carriage return, too."""
    return text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")
