"""Reads every setting once from the environment. Only settings differ between a laptop and AWS."""

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from affidavit.errors import InputRefused

LEAST_TTL_DAYS = 24


def _outlive_redelivery(days: int) -> int:
    if days < LEAST_TTL_DAYS:
        why = "SNS may deliver an alert again for 23 days, and an incident forgotten by then is investigated twice"
        raise ValueError(f"{days} days are too few, at least {LEAST_TTL_DAYS} are needed: {why}")
    return days


Count = Annotated[int, Field(ge=1)]
TtlDays = Annotated[int, AfterValidator(_outlive_redelivery)]
ExpiryMinutes = Annotated[int, Field(ge=1, le=240)]
Approvers = Annotated[int, Field(ge=1, le=2)]
Names = Annotated[str, Field(pattern=r"^[^\s]*$")]


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


class KubernetesApi(StrEnum):
    """How the API of a cluster is reached."""

    OFF = "off"
    EKS = "eks"
    IN_CLUSTER = "in-cluster"


class Settings(BaseModel):
    """A field's alias is its environment variable. Without `LOGS_BUCKET` everything lives in `AFFIDAVIT_DATA`."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    data_dir: Path = Field(
        Path(".affidavit"), alias="AFFIDAVIT_DATA", description="folder for bundles and state when there is no AWS"
    )
    debug: bool = Field(
        False, alias="AFFIDAVIT_DEBUG", description="the command prints the traceback of an error it did not expect"
    )
    region: str = Field("ca-central-1", alias="AWS_REGION", description="region of tables, buckets and Bedrock")
    logs_bucket: str = Field("", alias="LOGS_BUCKET", description="bucket the node bundles land in; empty: no AWS")
    state_table: str = Field("affidavit-state", alias="STATE_TABLE", description="table of collections and searches")
    incident_state_table: str = Field(
        "incident-state", alias="INCIDENT_STATE_TABLE", description="table of incident states"
    )
    incident_context_table: str = Field(
        "incident-context", alias="INCIDENT_CONTEXT_TABLE", description="table of diagnoses and reasoning"
    )
    kms_key_id: str = Field("", alias="KMS_KEY_ID", description="key for SSE-KMS on every object written")

    max_upload_mib: Count = Field(
        2048, alias="MAX_UPLOAD_MIB", description="largest archive, in MiB, that is indexed; a larger one is not read"
    )

    enable_collection: bool = Field(
        False, alias="ENABLE_COLLECTION", description="lets `collect` and `batch_collect` act on nodes"
    )
    allowed_clusters: Names = Field(
        "", alias="ALLOWED_CLUSTERS", description="clusters, by comma, that may be collected; empty: none"
    )
    bundle_fresh_minutes: Count = Field(
        15,
        alias="BUNDLE_FRESH_MINUTES",
        description="a node's bundle serves its incident when it was made at most so long before the alert",
    )
    collection_role_arn: str = Field(
        "", alias="COLLECTION_ROLE_ARN", description="role the collection runbook works with; empty: the caller's own"
    )
    node_collection_role_arn: str = Field(
        "",
        alias="NODE_COLLECTION_ROLE_ARN",
        description="role a supervisor assumes to collect from nodes and to hold their end; empty: its own",
    )
    lifecycle_hooks: Names = Field(
        "affidavit*",
        alias="LIFECYCLE_HOOKS",
        description="names of Auto Scaling's lifecycle hooks, by comma, that wait for us; * stands for any text",
    )
    kubernetes_api: KubernetesApi = Field(
        KubernetesApi.OFF,
        alias="KUBERNETES_API",
        description="off; eks: the API of a node's cluster, by our role; in-cluster: that of the cluster we run in",
    )
    host_log_groups: Names = Field(
        "/aws/containerinsights/{cluster}/host,/aws/containerinsights/{cluster}/dataplane",
        alias="HOST_LOG_GROUPS",
        description="log groups, by comma, that nodes send their logs to; the last resort for a node that is gone",
    )
    enable_debug_envelope: bool = Field(
        False, alias="ENABLE_DEBUG_ENVELOPE", description="lets a request ask for `_debug`"
    )
    enable_pii_redaction: bool = Field(
        False, alias="ENABLE_PII_REDACTION", description="redacts personal data too, not only secrets"
    )
    enable_comprehend: bool = Field(
        False,
        alias="ENABLE_COMPREHEND",
        description="asks Amazon Comprehend for personal data as well; needs ENABLE_PII_REDACTION",
    )
    mcp_api_key: str = Field("", alias="MCP_API_KEY", repr=False, description="bearer key of the HTTP server")
    mcp_api_key_parameter: str = Field(
        "/incident-response/mcp-api-key", alias="MCP_API_KEY_PARAMETER", description="SSM SecureString with that key"
    )
    secrets_path: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9._/-]+)?$")] = Field(
        "",
        alias="SECRETS_PATH",
        description="path in Parameter Store: a SecureString below it, named as a secret setting, is that setting",
    )
    mcp_keys_file: str = Field(
        "", alias="MCP_KEYS_FILE", description="file with keys of clients and their scopes; read again when it changes"
    )
    mcp_requests_per_minute: Count = Field(
        600, alias="MCP_REQUESTS_PER_MINUTE", description="requests of one client that the HTTP server answers"
    )
    mcp_max_connections: Count = Field(
        256, alias="MCP_MAX_CONNECTIONS", description="connections that the HTTP server holds open"
    )
    mcp_allowed_hosts: Names = Field(
        "", alias="MCP_ALLOWED_HOSTS", description="Host headers, by comma, that the HTTP server accepts"
    )
    mcp_allowed_origins: Names = Field(
        "", alias="MCP_ALLOWED_ORIGINS", description="Origin headers, by comma, that the HTTP server accepts"
    )
    mcp_public_url: str = Field("", alias="MCP_PUBLIC_URL", description="the address clients use, for OAuth metadata")
    mcp_oauth_issuer: str = Field("", alias="MCP_OAUTH_ISSUER", description="accepts tokens that this issuer signed")
    mcp_oauth_audience: str = Field(
        "", alias="MCP_OAUTH_AUDIENCE", description="the audience such a token must name; needed with an issuer"
    )
    mcp_oauth_jwks: str = Field(
        "", alias="MCP_OAUTH_JWKS", description="where the issuer's keys are, if not where it says itself"
    )
    mcp_toolsets: Names = Field(
        "", alias="MCP_TOOLSETS", description="toolsets, by comma, that the MCP server offers; empty: all it can"
    )
    mcp_server_url: str = Field("", alias="MCP_SERVER_URL", description="where the supervisor finds the MCP server")

    dead_letter_queue_url: str = Field(
        "", alias="DEAD_LETTER_QUEUE_URL", description="queue that learns which uploads could not be indexed, and why"
    )
    athena_workgroup: str = Field(
        "",
        alias="ATHENA_WORKGROUP",
        description="`affidavit fleet ask` asks Athena in this workgroup; empty: DuckDB here",
    )
    athena_database: str = Field(
        "affidavit", alias="ATHENA_DATABASE", description="database of the fleet's tables in Athena"
    )

    chat_provider: str = Field(
        "bedrock", alias="CHAT_PROVIDER", description="bedrock, offline, anthropic, openai, google or ollama"
    )
    chat_base_url: str = Field(
        "",
        alias="CHAT_BASE_URL",
        description="where the provider's interface is served: vLLM, a gateway, Azure, Ollama",
    )
    chat_api_key: str = Field(
        "",
        alias="CHAT_API_KEY",
        repr=False,
        description="key of anthropic, openai or google; else their own variable (ANTHROPIC_API_KEY, …) is read",
    )
    chat_temperature: float | None = Field(
        None, alias="CHAT_TEMPERATURE", ge=0, le=2, description="sampling temperature; unset: none is sent"
    )
    chat_model_id: str = Field(
        "", alias="CHAT_MODEL_ID", description="model id or inference profile; needed unless the provider is offline"
    )
    max_tokens_per_incident: Count = Field(
        100_000, alias="MAX_TOKENS_PER_INCIDENT", description="token cap over all attempts of an incident"
    )
    max_incidents_per_hour: Count = Field(
        20, alias="MAX_INCIDENTS_PER_HOUR", description="beyond it no chat model is called (circuit breaker)"
    )
    incident_ttl_days: TtlDays = Field(
        30,
        alias="INCIDENT_TTL_DAYS",
        description="how long an incident is kept; at least 24, because SNS may redeliver for 23 days",
    )
    alert_topic_arn: str = Field(
        "", alias="ALERT_TOPIC_ARN", description="SNS topic that people are told through when an incident has ended"
    )

    console_url: str = Field("", alias="CONSOLE_URL", description="where people open the console; notices link to it")
    console_oidc_issuer: str = Field(
        "", alias="CONSOLE_OIDC_ISSUER", description="people log in to the console at this OpenID Connect issuer"
    )
    console_oidc_client_id: str = Field(
        "", alias="CONSOLE_OIDC_CLIENT_ID", description="the console's client there; needed with an issuer"
    )
    console_oidc_client_secret: str = Field(
        "", alias="CONSOLE_OIDC_CLIENT_SECRET", repr=False, description="its secret; empty: a public client with PKCE"
    )
    console_oidc_roles_claim: str = Field(
        "roles",
        alias="CONSOLE_OIDC_ROLES_CLAIM",
        description="the claim of an id token that lists viewer, operator, approver",
    )
    notice_hosts: Names = Field(
        "hooks.slack.com,slack.com,api.pagerduty.com,api.github.com",
        alias="NOTICE_HOSTS",
        description="hosts, by comma, that notices may be sent to over HTTPS",
    )
    notice_private_hosts: Names = Field(
        "",
        alias="NOTICE_PRIVATE_HOSTS",
        description="hosts, by comma, that notices may be sent to though their address is private, or over plain HTTP",
    )
    notices_per_minute: Count = Field(
        10, alias="NOTICES_PER_MINUTE", description="notices that one channel is sent in a minute; the rest come later"
    )
    notice_floor: Names = Field(
        "",
        alias="NOTICE_FLOOR",
        description="least severity a channel is told of, as slack=high,github=critical; a channel not named hears all",
    )
    notice_states: Names = Field(
        "",
        alias="NOTICE_STATES",
        description="ends a channel is told of, as slack=DIAGNOSED|FAILED; a channel not named hears all",
    )
    slack_webhook_url: str = Field(
        "", alias="SLACK_WEBHOOK_URL", repr=False, description="incoming webhook of Slack: a new message per notice"
    )
    slack_bot_token: str = Field(
        "", alias="SLACK_BOT_TOKEN", repr=False, description="token of a Slack app: one message per incident"
    )
    slack_channel: str = Field("", alias="SLACK_CHANNEL", description="id of the channel that the Slack app writes to")
    teams_webhook_url: str = Field(
        "", alias="TEAMS_WEBHOOK_URL", repr=False, description="webhook of a Workflow of Microsoft Teams"
    )
    pagerduty_token: str = Field(
        "", alias="PAGERDUTY_TOKEN", repr=False, description="REST key that writes notes on PagerDuty incidents"
    )
    pagerduty_from: str = Field(
        "", alias="PAGERDUTY_FROM", description="mail address of the PagerDuty user in whose name notes are written"
    )
    notice_webhook_url: str = Field(
        "", alias="NOTICE_WEBHOOK_URL", repr=False, description="endpoint that gets notices as signed JSON"
    )
    notice_webhook_secret: str = Field(
        "", alias="NOTICE_WEBHOOK_SECRET", repr=False, description="what notices to that endpoint are signed with"
    )
    github_notice_repository: str = Field(
        "", alias="GITHUB_NOTICE_REPOSITORY", description="owner/name: one issue per incident is kept there"
    )
    github_notice_token: str = Field(
        "", alias="GITHUB_NOTICE_TOKEN", repr=False, description="token that may write issues of that repository"
    )

    incident_topic_arn: str = Field(
        "",
        alias="INCIDENT_TOPIC_ARN",
        description="SNS topic that alerts come in by; the indexer tells there which node's bundle can be asked now",
    )

    known_good_functions: Names = Field(
        "",
        alias="KNOWN_GOOD_FUNCTIONS",
        description="functions, by comma, whose state the watchdog keeps once runs go well on it; empty: none",
    )

    hook_alertmanager_secret: str = Field(
        "",
        alias="HOOK_ALERTMANAGER_SECRET",
        repr=False,
        description="switches on /hooks/alertmanager: its bearer token, or the password of basic authentication",
    )
    hook_grafana_secret: str = Field(
        "",
        alias="HOOK_GRAFANA_SECRET",
        repr=False,
        description="switches on /hooks/grafana: HMAC secret or bearer token",
    )
    hook_pagerduty_secret: str = Field(
        "",
        alias="HOOK_PAGERDUTY_SECRET",
        repr=False,
        description="switches on /hooks/pagerduty: secrets, by comma, that its webhooks are signed with",
    )
    hook_generic_secret: str = Field(
        "",
        alias="HOOK_GENERIC_SECRET",
        repr=False,
        description="switches on /hooks/generic: what deliveries are signed with",
    )
    hook_labels: Names = Field(
        "",
        alias="HOOK_LABELS",
        description="labels that name the subject, as node=labels.kubernetes_node,function_name=labels.lambda",
    )
    hook_requests_per_minute: Count = Field(
        120, alias="HOOK_REQUESTS_PER_MINUTE", description="deliveries of one source that the hooks take in a minute"
    )

    chaos_accounts: Names = Field(
        "", alias="CHAOS_ACCOUNTS", description="accounts, by comma, in which `affidavit chaos` may act; empty: none"
    )

    remediation: Switch = Field(
        Switch.OFF, alias="REMEDIATION", description="on: approved repairs may be carried out; off: nothing is changed"
    )
    remediation_freeze: bool = Field(
        False, alias="REMEDIATION_FREEZE", description="stops repairs for a while: no approval, no run, no undo"
    )
    remediation_role_arn: str = Field(
        "", alias="REMEDIATION_ROLE_ARN", description="role the executor assumes, under a policy of the approved calls"
    )
    remediation_expiry_minutes: ExpiryMinutes = Field(
        60, alias="REMEDIATION_EXPIRY_MINUTES", description="how long a plan may be approved and started; at most 240"
    )
    remediation_per_hour: Count = Field(
        4, alias="REMEDIATION_PER_HOUR", description="repairs that may be started in an hour"
    )
    remediation_target_minutes: Count = Field(
        30,
        alias="REMEDIATION_TARGET_MINUTES",
        description="how long a repaired thing is left alone before the next one",
    )
    remediation_people: Names = Field(
        "",
        alias="REMEDIATION_PEOPLE",
        description="ARNs, and mail addresses (console), by comma, that may approve; `*` for any part; empty: none",
    )
    remediation_approvers: Approvers = Field(
        1, alias="REMEDIATION_APPROVERS", description="1: two people where the risk is high; 2: two people always"
    )
    remediation_proof_minutes: Annotated[int, Field(ge=1, le=12)] = Field(
        10, alias="REMEDIATION_PROOF_MINUTES", description="how long the executor waits for a good run after a change"
    )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        known = {entry.alias for entry in cls.model_fields.values() if entry.alias is not None}
        values = environment if environment is not None else os.environ
        try:
            return cls.model_validate({name: values[name] for name in known if values.get(name)})
        except ValidationError as error:
            troubles = "; ".join(
                f"{trouble['loc'][0]}: {trouble['msg'].removeprefix('Value error, ')}" for trouble in error.errors()
            )
            raise InputRefused(
                f"a setting cannot be used: {troubles}",
                hint="correct the environment variable; see docs/reference/settings.md",
            ) from error

    def with_secrets(self, stored: Mapping[str, str]) -> Self:
        """With stored secrets where the environment has none. Only settings that are secret are taken."""
        fields = {field: alias for alias, field in secret_settings().items() if alias in stored}
        return self.model_copy(
            update={field: stored[alias] for field, alias in fields.items() if not getattr(self, field)}
        )

    @property
    def is_local(self) -> bool:
        return not self.logs_bucket

    @property
    def known_good(self) -> tuple[str, ...]:
        return tuple(name for name in self.known_good_functions.split(",") if name)

    @property
    def clusters(self) -> frozenset[str]:
        return frozenset(name for name in self.allowed_clusters.split(",") if name)


def secret_settings() -> dict[str, str]:
    """Environment variable → field, of settings that are never shown."""
    return {entry.alias: field for field, entry in Settings.model_fields.items() if entry.alias and not entry.repr}
