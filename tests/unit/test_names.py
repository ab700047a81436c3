"""One word per thing: a public name of a class means one thing in the whole package."""

import ast
from collections import defaultdict
from pathlib import Path

import affidavit

PACKAGE = Path(affidavit.__file__).parent


def classes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(file.relative_to(PACKAGE)))
    return found


def test_no_public_class_name_occurs_twice():
    found = classes()
    assert len(found) > 300
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_no_folder_holds_more_than_fourteen_modules():
    root = Path(__file__).parents[2]
    folders: dict[str, int] = defaultdict(int)
    for top in ("src", "tests", "infra", "release", "benchmarks"):
        for file in (root / top).rglob("*.py"):
            if file.name not in ("__init__.py", "conftest.py") and "cdk.out" not in file.parts:
                folders[str(file.parent.relative_to(root))] += 1
    assert {folder: count for folder, count in folders.items() if count > 14} == {}


def test_no_two_test_modules_share_a_name():
    """pytest would collect only one of them."""
    here = Path(__file__).parents[1]
    found: dict[str, list[str]] = defaultdict(list)
    for file in here.rglob("test_*.py"):
        if not (file.parent / "__init__.py").exists():
            found[file.name].append(str(file.relative_to(here)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
