"""The head of an HTTP request, whatever server received it, and how a refused one is answered."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

REFUSED_STATUS = 403


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestHead:
    """`target` is the path and query as sent, still encoded."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    """Names in lower case. A name can come twice."""

    def header(self, name: str) -> str:
        return ",".join(value for each, value in self.headers if each == name)


class RequestRefused(Exception):
    """`code` is what AWS would call it."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, f"{reason}; use the variables of: affidavit sandbox env"

    def headers(self) -> dict[str, str]:
        return {"Content-Type": "application/xml", "x-amzn-errortype": self.code, "Connection": "close"}

    def body(self) -> bytes:
        """In the form that most AWS clients read an error in; the others read the header above."""
        told = f"<Code>{self.code}</Code><Message>{escape(self.reason)}</Message>"
        return f"<ErrorResponse><Error>{told}</Error></ErrorResponse>".encode()
