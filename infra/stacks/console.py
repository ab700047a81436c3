"""Opt-in: the console for people, behind an address of its own. No key of an agent opens it; it reaches no workload."""

from aws_cdk import CfnOutput, CfnParameter, Duration, Stack
from constructs import Construct

from infra.options import CONSOLE_SECRETS, Options
from infra.parts.function import PackagedFunction, Spec
from infra.parts.personal_data import PersonalData
from infra.parts.throttled_api import address_of
from infra.rights import grants
from infra.stacks.state import INCIDENT_CONTEXT, INCIDENT_STATE, STATE, stores
from infra.stacks.storage import Storage

_CHOICES = {
    "ConsoleUrl": ("CONSOLE_URL", "", "address people open, when a domain of yours is before the console"),
    "ConsoleRolesClaim": ("CONSOLE_OIDC_ROLES_CLAIM", "roles", "claim that lists viewer, operator, approver"),
    "Remediation": ("REMEDIATION", "off", "on: people may approve repairs here"),
    "RemediationPeople": ("REMEDIATION_PEOPLE", "", "mail addresses, by comma, that may approve"),
}


class Console(Stack):
    """It reads, keeps sessions and decisions, and cannot carry out a repair: it has no executor and no such role."""

    def __init__(self, scope: Construct, name: str, *, options: Options, storage: Storage) -> None:
        super().__init__(scope, name, description="Affidavit: the console", analytics_reporting=False)
        self._options, self._storage = options, storage
        self.function = self._function()
        PersonalData(self).hide_in(self.function, with_comprehend=False)
        url = address_of(self.function, options)
        CfnOutput(self, "ConsoleAddress", value=url, description="register login/callback below it with your issuer")

    def _function(self) -> PackagedFunction:
        spec = Spec(
            part="console",
            package="mcp",
            handler="affidavit.entrypoints.lambdas.console_http.handler",
            about="Shows incidents and their evidence to people, and keeps what they decide",
            timeout=Duration.seconds(30),
            memory=1769,
            storage=4096,
            environment=self._environment(),
            concurrency=None,
        )
        function = PackagedFunction(self, spec, options=self._options)
        grants.read_objects(function, self._options, self._storage.key.key_arn)
        for table in (STATE, INCIDENT_STATE, INCIDENT_CONTEXT):
            grants.use_table(function, table)
        # The client's secret, if it has one.
        grants.read_secrets(function, CONSOLE_SECRETS)
        return function

    def _environment(self) -> dict[str, str]:
        return {
            **stores(self._options, self._storage.key.key_arn),
            "CHAT_PROVIDER": "offline",
            "CONSOLE_OIDC_ISSUER": self._needed("ConsoleIssuer", "issuer (OpenID Connect) at which people log in"),
            "CONSOLE_OIDC_CLIENT_ID": self._needed("ConsoleClientId", "client that is registered with the issuer"),
            **{
                variable: CfnParameter(self, name, default=default, description=about).value_as_string
                for name, (variable, default, about) in _CHOICES.items()
            },
        }

    def _needed(self, name: str, about: str) -> str:
        return CfnParameter(self, name, min_length=1, description=about).value_as_string
