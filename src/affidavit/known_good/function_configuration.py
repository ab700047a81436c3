"""How a function is set up: its own settings, aliases, event sources, asynchronous calls, reserved concurrency."""

from affidavit.known_good.state_assembly import Section, Sheet, chosen, mapping
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.workload_inspector import StateInspector

CONFIGURATION = "configuration"
CONCURRENCY = "concurrency"
# What somebody sets. What Lambda reports of it (State, LastModified, RevisionId) changes without anybody's doing.
SETTINGS = (
    "Architectures",
    "CodeSha256",
    "DeadLetterConfig",
    "EphemeralStorage",
    "FileSystemConfigs",
    "Handler",
    "KMSKeyArn",
    "LoggingConfig",
    "MemorySize",
    "PackageType",
    "Role",
    "Runtime",
    "Timeout",
    "TracingConfig",
)
_SOURCE = (
    "BatchSize",
    "DestinationConfig",
    "EventSourceArn",
    "FilterCriteria",
    "MaximumBatchingWindowInSeconds",
    "MaximumRetryAttempts",
    "ParallelizationFactor",
    "ScalingConfig",
)
_ASYNCHRONOUS = ("DestinationConfig", "MaximumEventAgeInSeconds", "MaximumRetryAttempts")


def read_configuration(sheet: Sheet, inspector: StateInspector, function: Item, *, digest_key: bytes) -> None:
    name = str(function["FunctionName"])
    sheet.read(CONFIGURATION, "settings", lambda: _settings(function))
    sheet.read(CONFIGURATION, "environment_digests", lambda: dict(inspector.environment_digests(name, key=digest_key)))
    sheet.read(CONFIGURATION, "aliases", lambda: _aliases(inspector, name))
    sheet.read(CONFIGURATION, "event_sources", lambda: _event_sources(inspector, name))
    sheet.read(
        CONFIGURATION, "asynchronous_calls", lambda: chosen(inspector.invoke_settings(name) or {}, _ASYNCHRONOUS)
    )
    sheet.read(CONFIGURATION, "resource_policy", lambda: inspector.resource_policy(str(function["FunctionArn"])))
    key = function.get("KMSKeyArn")
    if key:
        sheet.read(CONFIGURATION, "key_state", lambda: {str(key): inspector.key_state(str(key))})


def read_concurrency(sheet: Sheet, inspector: StateInspector, name: str) -> None:
    """`reserved` is null where none is set, which is not 0."""
    sheet.read(CONCURRENCY, "reserved", lambda: inspector.reserved_concurrency(name))


def _settings(function: Item) -> Section:
    layers = function.get("Layers")
    arns = [mapping(layer).get("Arn") for layer in layers] if isinstance(layers, list) else []
    vpc = mapping(function.get("VpcConfig"))
    membership = {field: _sorted(vpc.get(field)) for field in ("SubnetIds", "SecurityGroupIds") if vpc.get(field)}
    return chosen({**function, "Layers": arns, "VpcConfig": membership}, (*SETTINGS, "Layers", "VpcConfig"))


def _sorted(value: JsonValue) -> list[JsonValue]:
    return sorted(value, key=str) if isinstance(value, list) else []


def _aliases(inspector: StateInspector, name: str) -> Section:
    return {
        str(alias["Name"]): chosen(alias, ("FunctionVersion", "RoutingConfig")) for alias in inspector.aliases(name)
    }


def _event_sources(inspector: StateInspector, name: str) -> Section:
    return {
        str(source["UUID"]): {**chosen(source, _SOURCE), "is_enabled": source.get("State") != "Disabled"}
        for source in inspector.event_sources(name)
    }
