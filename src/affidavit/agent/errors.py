"""What an adapter of the agent raises: UpstreamFailed by who failed, so that no one has to guess by exception type.

By type alone a Bedrock timeout is an OSError, and an MCP outage arrives as a group of HTTP errors.
"""

from affidavit.errors import InputRefused, UpstreamFailed


class ChatModelFailed(UpstreamFailed):
    """`code` is the service's own word (`ThrottlingException`), or ours where it never answered. `wait` is for how many
    seconds it asked to be left alone."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        hint: str = "",
        provider: str = "",
        wait: float | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.status = status
        self.provider = provider
        self.wait = wait


class ChatModelRefused(InputRefused):
    """A setting names no chat model that can be made. Nobody was asked."""


class ChatKeyMissing(ChatModelRefused):
    """There is no key to ask with."""


class McpConnectionFailed(UpstreamFailed):
    """The MCP server could not be reached, or stopped answering."""


class McpInitError(UpstreamFailed):
    """It was reached, but the handshake or the list of tools failed."""


class McpAuthFailed(UpstreamFailed):
    """It said 401 or 403, also with a freshly fetched key."""
