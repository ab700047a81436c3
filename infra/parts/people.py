"""Who is told beside the topic, and who is asked beside Bedrock: parameters that are no secrets.

Secrets are SecureStrings below one path of Parameter Store, which CloudFormation neither makes nor sees.
"""

from aws_cdk import CfnParameter, Stack

from affidavit.settings import Settings

_PARAMETERS = {
    "ChatBaseUrl": ("CHAT_BASE_URL", "address of a gateway or of a server of yours; empty: the provider's own"),
    "ConsoleUrl": ("CONSOLE_URL", "where people open the console; notices link to it"),
    "SlackChannel": ("SLACK_CHANNEL", "id of the channel that the Slack app writes to; needs SLACK_BOT_TOKEN"),
    "PagerDutyFrom": ("PAGERDUTY_FROM", "mail address in whose name notes are written; needs PAGERDUTY_TOKEN"),
    "GitHubRepository": ("GITHUB_NOTICE_REPOSITORY", "owner/name for one issue per incident; needs its token"),
    "NoticeHosts": ("NOTICE_HOSTS", "hosts, by comma, that notices may be sent to"),
    "NoticeFloor": ("NOTICE_FLOOR", "least severity that a channel is told of, as slack=high,github=critical"),
    "NoticeStates": ("NOTICE_STATES", "ends that a channel is told of, as slack=DIAGNOSED|FAILED"),
}


def people_environment(stack: Stack) -> dict[str, str]:
    """Parameters of the stack, as variables of its functions."""
    return {variable: _parameter(stack, name, variable, about) for name, (variable, about) in _PARAMETERS.items()}


def _parameter(stack: Stack, name: str, variable: str, about: str) -> str:
    known = next(entry for entry in Settings.model_fields.values() if entry.alias == variable)
    return CfnParameter(stack, name, default=str(known.default), description=about).value_as_string
