"""`python -m infra`: write the templates. Fails on anything that cdk-nag finds and nobody explained."""

import argparse
import json
import shutil
import sys
from pathlib import Path

from infra.app import build
from infra.options import Options

REPORT = "validation-report.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/cdk"), help="folder of the cloud assembly")
    parser.add_argument("--keep", type=Path, help="folder that gets the templates alone")
    parser.add_argument("--vpc", action="store_true", help="the indexer runs in a VPC without a way out")
    parser.add_argument("--disposable", action="store_true", help="deleting a stack deletes its data too")
    parser.add_argument("--no-recovery", action="store_true", help="no point-in-time recovery of the tables")
    parser.add_argument(
        "--node-tag",
        action="append",
        default=[],
        metavar="KEY",
        help="nodes with this tag may be collected, such as kubernetes.io/cluster/NAME; may be repeated",
    )
    parser.add_argument("--http-api", action="store_true", help="an HTTP API with a rate limit before the servers")
    parser.add_argument(
        "--object-lock", type=int, default=0, metavar="DAYS", help="stored evidence cannot be deleted for so many days"
    )
    parser.add_argument("--code-signing", default="", metavar="ARN", help="configuration that packages must satisfy")
    asked = parser.parse_args()
    options = Options(
        has_vpc=asked.vpc,
        keeps_data=not asked.disposable,
        has_point_in_time_recovery=not asked.no_recovery,
        node_tags=tuple(asked.node_tag),
        has_http_api=asked.http_api,
        locked_days=asked.object_lock,
        signing_arn=asked.code_signing,
    )
    shutil.rmtree(asked.out, ignore_errors=True)
    try:
        build(options, asked.out).synth()
    except RuntimeError as error:
        print(error, *_findings(asked.out / REPORT), sep="\n", file=sys.stderr)
        return 1
    if asked.keep is not None:
        _keep(asked.out, asked.keep)
    return 0


def _findings(report: Path) -> list[str]:
    if not report.exists():
        return []
    violations = [found for plugin in json.loads(report.read_text())["pluginReports"] for found in plugin["violations"]]
    return [
        f"{found['ruleName']}: {', '.join(place['constructPath'] for place in found['violatingConstructs'])}"
        for found in violations
    ]


def _keep(assembly: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for template in sorted(assembly.glob("*.template.json")):
        content = json.loads(template.read_text())
        (folder / template.name).write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
