"""Actions that log lines say were denied, in the wordings of AWS's services and SDKs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from affidavit.ports.workload_inspector import LogLine
from affidavit.workloads.sdk_operations import action_of, proper_case

_QUOTE = r"[\"'`’\\]*"
_ARN = r"arn:aws[a-z-]*:[^\s\"'`’,;\\]+"
NAMED = re.compile(
    rf"(?:User:? {_QUOTE}(?P<principal>{_ARN}|anonymous)?{_QUOTE} )?(?:is )?not authorized to perform:? {_QUOTE}"
    rf"(?P<action>[A-Za-z0-9-]+:[A-Za-z*]+){_QUOTE}"
    rf"(?: (?:on|with) (?:the )?(?:following )?resources?:? {_QUOTE}(?P<resource>{_ARN}|\*))?",
    re.IGNORECASE,
)
BY_OPERATION = re.compile(
    r"\((?:AccessDenied|AccessDeniedException|UnauthorizedOperation|AuthorizationError|403|UnauthorizedAccess)\)"
    r" when calling the (?P<operation>\w+) operation",
    re.IGNORECASE,
)
# The Go SDKs name service and operation in front of the refusal.
_BY_GO = re.compile(
    r"operation error [\w ]+: (?P<operation>\w+), .{0,200}?(?:StatusCode: 403|api error (?:AccessDenied|Unauthorized))",
    re.DOTALL,
)
_MISSING = re.compile(
    r"(?:missing the following permissions:? \[?|perform the required AWS Marketplace actions \()"
    r"(?P<actions>[a-z0-9-]+:[A-Za-z]+(?:, ?[a-z0-9-]+:[A-Za-z]+)*)"
)
# KMS's old text names nothing; whoever passes it on was decrypting.
_BY_KMS = re.compile(r"ciphertext refers to a customer master key that does not exist", re.IGNORECASE)
# A service that is not let use its key names the operation it was asked for, not the one that KMS refused.
_BY_KMS_OF = re.compile(r"\(KMS\.?AccessDenied\w*\) when calling the (?P<operation>\w+) operation")
# The database does not say which action of IAM's it asked about; there is only this one.
_BY_DATABASE = re.compile(r"PAM authentication failed for user \\?[\"']?(?P<user>[\w.-]+)", re.IGNORECASE)
DATABASE_LOGIN = "rds-db:connect"
_READS = ("Get", "Receive", "Read", "Decrypt", "Query", "Scan", "Batch", "Select", "Head")
_KMS_KEY = re.compile(r"arn:aws[a-z-]*:kms:[^\s\"'`,;\\]+")


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Denial:
    action: str
    resource: str | None
    """None when the line does not say."""
    principal: str | None = field(default=None, compare=False)
    """Who was denied, when the line says so."""

    @property
    def service(self) -> str:
        return self.action.partition(":")[0]


def denials(lines: Iterable[LogLine]) -> list[Denial]:
    """Each once, in the order of the lines. A line that names the resource wins over one that does not."""
    found = dict.fromkeys(denial for line in lines for denial in denials_in(line.message))
    named = {denial.action for denial in found if denial.resource is not None}
    return [denial for denial in found if denial.resource is not None or denial.action not in named]


def denials_in(message: str) -> list[Denial]:
    named = [
        Denial(action=proper_case(match["action"]), resource=_resource(match), principal=match["principal"])
        for match in NAMED.finditer(message)
    ]
    listed = [
        Denial(action=action.strip(), resource="*")
        for match in _MISSING.finditer(message)
        for action in match["actions"].split(",")
    ]
    if named or listed:
        return list(dict.fromkeys((*named, *listed)))
    if _BY_KMS.search(message):
        key = _KMS_KEY.search(message)
        return [Denial(action="kms:Decrypt", resource=key[0] if key else None)]
    if passed_on := _BY_KMS_OF.search(message):
        action = "kms:Decrypt" if passed_on["operation"].startswith(_READS) else "kms:GenerateDataKey"
        return [Denial(action=action, resource=None)]
    if _BY_DATABASE.search(message):
        return [Denial(action=DATABASE_LOGIN, resource=None)]
    operations = [match["operation"] for by in (BY_OPERATION, _BY_GO) for match in by.finditer(message)]
    actions = dict.fromkeys(action for name in operations if (action := action_of(name)))
    return [Denial(action=action, resource=None) for action in actions]


def database_users(lines: Iterable[LogLine]) -> list[str]:
    """Users of databases that refused a login by IAM, each once."""
    return list(dict.fromkeys(found["user"] for line in lines for found in _BY_DATABASE.finditer(line.message)))


def _resource(match: re.Match[str]) -> str | None:
    if match["resource"] is not None:
        return match["resource"].rstrip(".,")
    # Elsewhere a denial that names no resource is about an action that takes none; S3's actions all take one.
    return None if match["action"].lower().startswith("s3:") else "*"
