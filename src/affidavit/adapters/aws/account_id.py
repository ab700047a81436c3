"""Tells which account the credentials in force belong to."""

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import AffidavitError


def account_id(clients: AwsClients) -> str:
    """Empty when nobody can say: then accounts are not compared, and the function's own ARN has to tell."""
    try:
        with translated("the account of the credentials"):
            return str(clients.client("sts", attempts=1).get_caller_identity()["Account"])
    except AffidavitError:
        return ""
