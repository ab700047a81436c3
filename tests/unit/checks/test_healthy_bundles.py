from pathlib import Path

import pytest

from affidavit.checks.run_on_bundle import ChecksResult, load_checks, run_checks
from affidavit.evaluation.generator.bundle import GeneratedBundle, generate
from affidavit.evaluation.generator.spec import BundleSpec, Layout

CHECKS = load_checks()
LINUX = [layout for layout in Layout if layout is not Layout.WINDOWS]


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("seed", [1, 7])
def test_every_check_is_silent_on_a_healthy_bundle_and_finds_all_it_needs(
    layout: Layout, seed: int, tmp_path: Path
) -> None:
    result = _run(generate(BundleSpec(layout=layout, seed=seed)), tmp_path)
    assert [(shown.check.id, shown.path, shown.hits) for shown in result.shown] == []
    assert result.gaps == ()


@pytest.mark.parametrize("layout", LINUX)
def test_a_full_disk_is_shown_at_the_line_that_says_so(layout: Layout, tmp_path: Path) -> None:
    bundle = generate(BundleSpec(layout=layout, faults=("disk_pressure",)))
    result = _run(bundle, tmp_path)
    expected = {(problem.file, problem.lines) for problem in bundle.truth.problems if problem.text.startswith("97% /")}
    shown = {(shown.path, tuple(hit.line for hit in shown.hits)) for shown in result.shown}
    assert shown == {(file, lines) for file, lines in expected if file in bundle.files}
    assert {each.check.id for each in result.shown} == {"storage.disk-full"}


def _run(bundle: GeneratedBundle, folder: Path) -> ChecksResult:
    files: dict[str, Path] = {}
    for number, (path, data) in enumerate(bundle.files.items()):
        files[path] = folder / str(number)
        files[path].write_bytes(data)
    return run_checks(CHECKS, files)
