"""What can be chosen. Apart from the rest because the command line needs it at once and nothing heavy with it."""

from enum import StrEnum


class Fault(StrEnum):
    IAM = "iam"
    THROTTLE = "throttle"
    NETWORK = "network"


class RevokeTarget(StrEnum):
    S3 = "s3"
    CLOUDWATCH = "cloudwatch"
    BOTH = "both"

    @property
    def services(self) -> tuple[str, ...]:
        return ("s3", "cloudwatch") if self is RevokeTarget.BOTH else (self.value,)


class NetworkMethod(StrEnum):
    EGRESS = "egress"
    NACL = "nacl"
