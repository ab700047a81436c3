"""The faults that can be injected. A separate module, so that the command line need not load the heavy ones."""

from enum import StrEnum


class InjectedFault(StrEnum):
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
