"""What the role of a function may do: trust, boundary, inline policies, and the versions of its managed ones."""

from affidavit.errors import NotFound
from affidavit.known_good.state_assembly import Section, Sheet, mapping
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.workload_inspector import StateInspector

PERMISSIONS = "permissions"


def read_permissions(sheet: Sheet, inspector: StateInspector, function: Item) -> None:
    role = role_name(str(function.get("Role", "")))
    sheet.read(PERMISSIONS, "role", lambda: _role(inspector, role))
    sheet.read(PERMISSIONS, "inline_policies", lambda: _inline(inspector, role))
    sheet.read(PERMISSIONS, "attached_policies", lambda: _attached(inspector, role))


def role_name(arn: str) -> str:
    return arn.rsplit("/", 1)[-1]


def _role(inspector: StateInspector, name: str) -> JsonValue:
    """Null for a role that the function names and IAM does not know."""
    try:
        role = inspector.role(name)
    except NotFound:
        return None
    boundary = mapping(role.get("PermissionsBoundary")).get("PermissionsBoundaryArn")
    return {"name": name, "trust": role.get("AssumeRolePolicyDocument"), "boundary": boundary}


def _inline(inspector: StateInspector, role: str) -> Section:
    try:
        return dict(inspector.inline_policies(role))
    except NotFound:
        return {}


def _attached(inspector: StateInspector, role: str) -> Section:
    try:
        arns = inspector.attached_policies(role)
    except NotFound:
        return {}
    return {arn: _version(inspector, arn) for arn in arns}


def _version(inspector: StateInspector, arn: str) -> Section:
    default = next(one for one in inspector.policy_versions(arn) if one.is_default)
    return {"version": default.version_id, "document": inspector.policy_version(arn, default.version_id)}
