"""Reads the secrets of a deployed function from Parameter Store: one SecureString per setting, below one path."""

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated


def stored_secrets(clients: AwsClients, path: str) -> dict[str, str]:
    """Name of a setting → its secret. A parameter that is not encrypted is none: the doctor tells of it."""
    with translated(f"the parameters below {path}"):
        pages = clients.client("ssm").get_paginator("get_parameters_by_path")
        found = [one for page in pages.paginate(Path=path, WithDecryption=True) for one in page["Parameters"]]
    secure = (one for one in found if one["Type"] == "SecureString")
    return {str(one["Name"]).rpartition("/")[2]: str(one["Value"]) for one in secure}
