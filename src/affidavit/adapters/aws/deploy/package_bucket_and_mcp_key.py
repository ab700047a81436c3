"""Makes what a deployment needs before its first stack: the bucket for packages, and the server's key."""

import secrets
from pathlib import Path

from botocore.exceptions import ClientError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import code_of, translated
from affidavit.errors import NotFound

_CLOSED = {
    "BlockPublicAcls": True,
    "IgnorePublicAcls": True,
    "BlockPublicPolicy": True,
    "RestrictPublicBuckets": True,
}
_TAKEN = ("BucketAlreadyOwnedByYou", "BucketAlreadyExists")


class Artifacts:
    def __init__(self, clients: AwsClients) -> None:
        self._clients = clients

    def account(self) -> str:
        with translated("the caller's account"):
            return str(self._clients.client("sts").get_caller_identity()["Account"])

    def bucket(self) -> str:
        return f"affidavit-artifacts-{self.account()}-{self._clients.region}"

    def make_bucket(self) -> str:
        """Closed and encrypted. There already: left as it is."""
        name, s3 = self.bucket(), self._clients.client("s3")
        # us-east-1 takes no constraint, every other region needs one.
        place = {} if self._clients.region == "us-east-1" else {"LocationConstraint": self._clients.region}
        with translated(f"bucket {name}"):
            try:
                s3.create_bucket(Bucket=name, **({"CreateBucketConfiguration": place} if place else {}))
            except ClientError as error:
                if code_of(error) not in _TAKEN:
                    raise
            s3.put_public_access_block(Bucket=name, PublicAccessBlockConfiguration=_CLOSED)
        return name

    def upload(self, bucket: str, file: Path) -> bool:
        """Under its own name, which holds its digest: what is there need not be sent again."""
        s3 = self._clients.client("s3")
        try:
            with translated(f"package {file.name}"):
                s3.head_object(Bucket=bucket, Key=file.name)
                return False
        except NotFound:
            with translated(f"package {file.name}"):
                s3.upload_file(str(file), bucket, file.name)
            return True

    def make_server_key(self, parameter: str) -> bool:
        """CloudFormation cannot make a SecureString. One that is there is kept: somebody may use it."""
        ssm = self._clients.client("ssm")
        try:
            with translated(f"parameter {parameter}"):
                ssm.get_parameter(Name=parameter, WithDecryption=False)
                return False
        except NotFound:
            with translated(f"parameter {parameter}"):
                ssm.put_parameter(
                    Name=parameter,
                    Value=secrets.token_urlsafe(32),
                    Type="SecureString",
                    Description="bearer key of the MCP server",
                )
            return True
