"""Writes the MCP bundle: one file that a desktop client installs with a click. `uvx` runs the published package."""

import json
import zipfile
from pathlib import Path

from affidavit import __version__

_WHEN = (2026, 1, 1, 0, 0, 0)


def manifest() -> dict[str, object]:
    """The bundle's manifest, version 0.3 of its format."""
    return {
        "manifest_version": "0.3",
        "name": "affidavit",
        "display_name": "Affidavit",
        "version": __version__,
        "description": "Questions about log bundles of EKS worker nodes; every answer can be re-read byte for byte.",
        "author": {"name": "The Affidavit authors"},
        "license": "Apache-2.0",
        "server": {
            "type": "python",
            "entry_point": "manifest.json",
            "mcp_config": {
                "command": "uvx",
                "args": [f"affidavit=={__version__}", "mcp", "--bundles", "${user_config.bundles}"],
            },
        },
        "user_config": {
            "bundles": {
                "type": "directory",
                "title": "Folder with bundles",
                "description": "Archives of the EKS log collector, or folders they were unpacked to.",
                "required": True,
            }
        },
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": ">=3.11"}},
    }


def write_mcp_bundle(folder: Path) -> Path:
    """The same bytes every time: the bundle says nothing of when it was made."""
    path = folder / f"affidavit-{__version__}.mcpb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        entry = zipfile.ZipInfo("manifest.json", date_time=_WHEN)
        bundle.writestr(entry, json.dumps(manifest(), indent=2) + "\n")
    return path
