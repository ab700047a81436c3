"""`python -m release`: build, compare, try. `--extras` tries every extra too, which takes minutes."""

import argparse
import tempfile
from pathlib import Path

from affidavit.entrypoints.package_extras import EXTRAS
from release.build import build
from release.manual import write_manual
from release.mcp_bundle import write_mcp_bundle
from release.trial import SANDBOX, pythons, try_core, try_extras


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="where the files go")
    parser.add_argument("--extras", action="store_true", help="also install each extra into an environment of its own")
    parser.add_argument("--no-trial", action="store_true", help="build and compare only")
    given = parser.parse_args()
    built = [*build(given.out), write_mcp_bundle(given.out), write_manual(given.out)]
    print("built twice, byte for byte the same:", *(path.name for path in built))
    if not given.no_trial:
        _try(next(path for path in built if path.suffix == ".whl").resolve(), with_extras=given.extras)


def _try(wheel: Path, *, with_extras: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        troubles = [trouble for python in pythons() for trouble in try_core(wheel, Path(name), python)]
        for extras in (*((extra.name,) for extra in EXTRAS), sorted(SANDBOX)) if with_extras else ():
            troubles.extend(try_extras(wheel, Path(name), extras))
    if troubles:
        raise SystemExit("\n".join(troubles))
    print("every command works, or names the extra it needs")


if __name__ == "__main__":
    main()
