"""Gives the emulator IAM's SetDefaultPolicyVersion, which it lacks."""

from typing import Any


def add_default_versions(iam: Any) -> None:
    """`iam` is the emulator's service module."""

    def set_default(parameters: Any) -> Any:
        policy = iam._policies.get(iam._p(parameters, "PolicyArn"))
        chosen = iam._p(parameters, "VersionId")
        if not policy or chosen not in policy["Versions"]:
            return iam._error(404, "NoSuchEntity", f"Policy version {chosen} not found.", ns="iam")
        for version in policy["Versions"].values():
            version["IsDefaultVersion"] = version["VersionId"] == chosen
        policy["DefaultVersionId"] = chosen
        return iam._xml(200, "SetDefaultPolicyVersionResponse", "", ns="iam")

    iam._IAM_HANDLERS["SetDefaultPolicyVersion"] = set_default
