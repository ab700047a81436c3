"""`python -m infra.packaging`: the zips of the functions, out of requirements.lock. The same lock gives the same bytes.

Wheels come from the package index for Lambda's Python, checked against the lock's hashes. With `--installed` they are
taken from this environment instead, checked against the hashes of their installation: for the sandbox, whose functions
run in this interpreter.
"""

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from release.shipped import SHIPPED, make_shipped

from infra.packaging.closure import Target, closure
from infra.packaging.starting import failure, interpreter
from infra.packaging.wheels import from_index, from_installed

ROOT = Path(__file__).parents[2]
OURS = ROOT / "src" / "affidavit"
LOCK = ROOT / "requirements.lock"
# Lambda's own: a package and its layers together, unpacked.
MOST_UNPACKED = 250 * 1024 * 1024
_ENGINE = (
    *("backports-zstd", "google-re2", "hyperscan", "isal", "numpy", "opentelemetry-api", "pydantic", "pyyaml"),
    "rfc8785",
)
_CALLED = (
    *("cloudtrail", "cloudwatch", "comprehend", "dynamodb", "ec2", "eks", "iam", "kms"),
    *("lambda", "logs", "s3", "sns", "sqs", "ssm", "sts"),
)
_PROVIDERS = ("langchain-anthropic", "langchain-google-genai", "langchain-ollama", "langchain-openai")
_MOMENT = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Package:
    """`roots` are what our modules import; `services` are the AWS services whose descriptions boto3 needs.

    `loads` are the handlers, and what they import only when they need it.
    """

    name: str
    roots: tuple[str, ...]
    services: tuple[str, ...] = _CALLED
    loads: tuple[str, ...] = ()
    has_commands: bool = False


PACKAGES = (
    Package(
        name="ingest",
        roots=(*_ENGINE, "boto3", "duckdb"),
        services=("dynamodb", "ec2", "s3", "sns", "sqs", "sts"),
        loads=(
            "affidavit.entrypoints.lambdas.on_bundle_uploaded",
            "affidavit.adapters.aws.bundle_ready_publisher",
            "affidavit.adapters.aws.dead_letter_sender",
            "affidavit.adapters.aws.node_directory",
            "affidavit.adapters.aws.storage.objects",
            "affidavit.fleet.publish",
            "affidavit.investigation",
            "affidavit.nodes.ingest.bundle_intake",
            "duckdb",
            "hyperscan",
        ),
    ),
    Package(
        name="mcp",
        roots=(*_ENGINE, "authlib", "boto3", "jinja2", "mcp", "python-multipart", "rich", "starlette"),
        loads=(
            "affidavit.entrypoints.lambdas.console_http",
            "affidavit.entrypoints.lambdas.mcp_http",
            "affidavit.entrypoints.lambdas.on_gateway_call",
            "affidavit.entrypoints.lambdas.on_hook",
            "affidavit.adapters.aws.storage.objects",
            "affidavit.adapters.aws.workload.inspector",
            "affidavit.nodes.library.indexed_bundles",
            "cryptography.hazmat.primitives.asymmetric.rsa",
            "hyperscan",
        ),
    ),
    Package(
        name="supervisor",
        roots=(*_ENGINE, "boto3", "kubernetes", "langchain-aws", "langchain-core", "langgraph", "mcp", *_PROVIDERS),
        services=(*_CALLED, "autoscaling", "bedrock", "bedrock-runtime"),
        loads=(
            "affidavit.entrypoints.lambdas.on_incident",
            "affidavit.entrypoints.lambdas.on_watchdog_tick",
            "affidavit.adapters.aws.bedrock_chat",
            "affidavit.adapters.aws.sessions.role_clients",
            "affidavit.entrypoints.collection_wiring",
            "kubernetes.client",
            "affidavit.agent.toolbox.mcp_tools",
            "affidavit.agent.rules",
            "affidavit.agent.run",
            "affidavit.adapters.channels.slack_app",
            "langchain_anthropic",
            "langchain_aws",
            "langchain_google_genai",
            "langchain_ollama",
            "langchain_openai",
        ),
    ),
    # Lambda's own boto3 is good enough for a program that shall break.
    Package(name="demo", roots=()),
)
# Not a function: what a container needs to serve MCP, hooks and the console, and for the commands that read bundles.
SERVER = Package(
    name="server",
    roots=(
        *(*_ENGINE, "boto3", "duckdb", "mcp", "rich", "starlette", "typer", "uvicorn"),
        *("authlib", "jinja2", "kubernetes"),
    ),
    services=(*_CALLED, "athena"),
    loads=(
        "affidavit.entrypoints.cli.main",
        "affidavit.entrypoints.cli.mcp",
        "affidavit.entrypoints.console.app",
        "affidavit.investigation",
        "kubernetes",
        "uvicorn",
    ),
    has_commands=True,
)


@dataclass(frozen=True, kw_only=True)
class Built:
    name: str
    file: str
    sha256: str
    python: str
    zipped: int
    unpacked: int
    distributions: int


def build(package: Package, target: Target, out: Path, *, is_installed: bool, shipped: Path | None = None) -> Built:
    """`shipped` is what a first run would make, so that a cold start need not."""
    names = closure(package.roots, target)
    with tempfile.TemporaryDirectory() as folder:
        content = Path(folder)
        if is_installed:
            from_installed(names, content)
        elif names:
            from_index(names, target, LOCK, content)
        _thin(content, package.services)
        _add_ours(package, content, shipped)
        archive = out / f"{package.name}.zip"
        # What is thrown away after a test need not be small.
        unpacked = _write(archive, content, level=1 if is_installed else 6)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    for older in out.glob(f"{package.name}-*.zip"):
        older.unlink()
    final = archive.rename(out / f"{package.name}-{digest[:16]}.zip")
    return Built(
        name=package.name,
        file=final.name,
        sha256=digest,
        python=target.python,
        zipped=final.stat().st_size,
        unpacked=unpacked,
        distributions=len(names),
    )


def _add_ours(package: Package, content: Path, shipped: Path | None) -> None:
    if package.name == "demo":
        shutil.copy(ROOT / "src/affidavit/sandbox/account/data_processor/handler.py", content / "handler.py")
        return
    left_out = {OURS / "sandbox"} | (set() if package.has_commands else {OURS / "entrypoints" / "cli"})

    def ignored(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name == "__pycache__" or Path(folder, name) in left_out]

    shutil.copytree(OURS, content / "affidavit", ignore=ignored)
    if shipped is not None:
        shutil.copytree(shipped, content / "affidavit" / SHIPPED)
    for notice in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / notice, content / "affidavit" / notice)


def _thin(content: Path, services: tuple[str, ...]) -> None:
    """Descriptions of services that nobody calls are most of botocore; tests and stubs are never imported."""
    described = content / "botocore" / "data"
    if described.is_dir():
        for entry in described.iterdir():
            if entry.is_dir() and entry.name not in services:
                shutil.rmtree(entry)
    # Of Kubernetes's client, the half for asyncio is a second copy that nobody imports.
    for name in ("bin", "share", "kubernetes/aio"):
        shutil.rmtree(content / name, ignore_errors=True)
    for folder in [path for path in content.rglob("*") if path.is_dir() and path.name in ("tests", "__pycache__")]:
        shutil.rmtree(folder, ignore_errors=True)
    for pattern in ("*.pyi", "*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/direct_url.json"):
        for path in list(content.rglob(pattern)):
            path.unlink()


def _write(archive: Path, content: Path, *, level: int) -> int:
    unpacked = 0
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in _files(content):
            info = zipfile.ZipInfo(path.relative_to(content).as_posix(), _MOMENT)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            data = path.read_bytes()
            packed.writestr(info, data, compresslevel=level)  # for one with an info the archive's own is not used
            unpacked += len(data)
    return unpacked


def _files(content: Path) -> Iterator[Path]:
    yield from sorted(path for path in content.rglob("*") if path.is_file())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.packaging", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/packages"))
    parser.add_argument("--installed", action="store_true", help="take what is installed here, for this interpreter")
    parser.add_argument("--only", default="", help="only these packages, by comma; `server` is for an image")
    asked = parser.parse_args()
    target = Target.of_this_interpreter() if asked.installed else Target.of_lambda()
    asked.out.mkdir(parents=True, exist_ok=True)
    only = asked.only.split(",") if asked.only else [each.name for each in PACKAGES]
    wanted = [each for each in (*PACKAGES, SERVER) if each.name in only]
    with tempfile.TemporaryDirectory() as folder:
        shipped = Path(folder) / SHIPPED
        make_shipped(OURS.parent, shipped)
        built = [build(each, target, asked.out, is_installed=asked.installed, shipped=shipped) for each in wanted]
    (asked.out / "packages.json").write_text(json.dumps([asdict(each) for each in built], indent=1) + "\n")
    for each in built:
        print(f"{each.name:12}{each.zipped / 1e6:8.1f} MB zipped{each.unpacked / 1e6:8.1f} MB unpacked  {each.file}")
    return max(_sized(built), 0 if asked.installed else _started(built, asked.out, target))


def _sized(built: Sequence[Built]) -> int:
    large = [each.name for each in built if each.unpacked > MOST_UNPACKED]
    if large:
        print(f"too large for Lambda ({MOST_UNPACKED / 1e6:.0f} MB unpacked): {', '.join(large)}", file=sys.stderr)
    return 1 if large else 0


def _started(built: Sequence[Built], out: Path, target: Target) -> int:
    """A wheel may be there and not start; that is better learned here than from the first event."""
    loads = {package.name: package.loads for package in (*PACKAGES, SERVER)}
    wanted = [each for each in built if loads[each.name]]
    python = interpreter(target.python)
    if python is None:
        print(f"not started: there is no Python {target.python} on this machine", file=sys.stderr)
        return 0
    failures = {each.name: said for each in wanted if (said := failure(out / each.file, loads[each.name], python))}
    for name, said in failures.items():
        print(f"{name} does not start in Python {target.python}: {said}", file=sys.stderr)
    if not failures:
        print(f"started in Python {target.python}: {', '.join(each.name for each in wanted)}")
    return 1 if failures else 0
