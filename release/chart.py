"""`python -m release.chart`: renders the Helm chart with Helm's own library and keeps what came out in charts/rendered.

Helm is no dependency of ours: `make chart` puts its library into an environment of its own. Tests read what is kept,
and a digest of the sources says whether it is fresh.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import yaml

from affidavit.settings import Settings, secret_settings

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "affidavit"
CASES = ROOT / "charts" / "cases"
RENDERED = ROOT / "charts" / "rendered"
SCHEMA = CHART / "values.schema.json"
# Where the container keeps its state is not the reader's to say.
_OWN = {"AFFIDAVIT_DATA"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m release.chart", description=__doc__)
    parser.add_argument("--helm", default="", help="a Python that has helm-python-sdk; without: only names of settings")
    given = parser.parse_args()
    _write_setting_names()
    return _render(given.helm) if given.helm else 0


def _render(helm: str) -> int:
    for case in sorted(CASES.glob("*.yaml")):
        done = _rendered(helm, case)
        if isinstance(done, str):
            print(f"{case.name}: {done}", file=sys.stderr)
            return 1
        kept = RENDERED / case.name
        kept.write_text(f"# sources: {digest()}\n" + "---\n".join(_manifests(done)))
        print(f"{kept.relative_to(ROOT)} written")
    return 0


def settings_of_the_chart() -> list[str]:
    """Settings that a value of the chart may set: all but secrets."""
    names = {entry.alias for entry in Settings.model_fields.values() if entry.alias}
    return sorted(names - set(secret_settings()) - _OWN)


def digest() -> str:
    """Of everything that a rendering depends on; the schema only refuses."""
    found = [path for folder in (CHART, CASES) for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [path for path in found if path != SCHEMA]
    content = b"".join(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() for path in files)
    return hashlib.sha256(content).hexdigest()


def _write_setting_names() -> None:
    schema = json.loads(SCHEMA.read_text())
    schema["properties"]["settings"]["propertyNames"]["enum"] = settings_of_the_chart()
    SCHEMA.write_text(json.dumps(schema, indent=2) + "\n")


def _manifests(rendered: dict[str, str]) -> list[str]:
    """Those that make something, in the order of their files."""
    named = [(name, text) for name, text in sorted(rendered.items()) if name.endswith(".yaml") and text.strip()]
    return [f"{text.strip()}\n" for _, text in named]


_PROGRAM = """
import json, sys
from helm_python import Chart, HelmError, lint
chart, values = sys.argv[1], json.loads(sys.argv[2])
try:
    with Chart.load(chart) as loaded:
        loaded.validate_schema(loaded.merge_values(values))
        rendered = loaded.render(values, name="affidavit", namespace="incidents")
    found = [each["error"] for each in lint(chart, values=values, strict=True)["messages"] if each["severity"] > 1]
    print(json.dumps({"refused": "; ".join(found)} if found else rendered))
except HelmError as error:
    print(json.dumps({"refused": str(error)}))
"""


def _rendered(helm: str, case: Path) -> dict[str, str] | str:
    """File name → manifest; or why Helm refused."""
    values = json.dumps(yaml.safe_load(case.read_text()))
    command = [helm, "-c", _PROGRAM, str(CHART), values]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    return str(said["refused"]) if "refused" in said else said


if __name__ == "__main__":
    sys.exit(main())
