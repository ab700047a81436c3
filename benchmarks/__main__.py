"""`python -m benchmarks`: measure, print a table, write JSON."""

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from affidavit.rules.pack import RulePack, load_pack
from benchmarks import cases
from benchmarks.bundles import hundred_patterns
from benchmarks.cases import Result
from benchmarks.console import page_costs
from benchmarks.console_paint import paint_times
from benchmarks.growth import growth
from benchmarks.node_incident import node_incident
from benchmarks.patterns import slowest_pattern

DENSITIES = (0.0001, 0.001, 0.05)
Group = Callable[[], Iterator[Result]]


def groups(full: RulePack, rounds: int, sizes: list[int]) -> dict[str, Group]:
    pack = hundred_patterns(full)
    found: dict[str, Group] = {
        "help": lambda: cases.help_time(rounds),
        "lines": cases.lines_by_number,
        "loop": lambda: cases.per_line_loop(pack, rounds),
    }
    for density in DENSITIES:
        target = 2.5 if density <= 0.001 else 1.3
        found[f"scan-{density}"] = lambda density=density, target=target: cases.scan_speed(
            pack, density, rounds, target=target
        )
    for size in sizes:
        for density in DENSITIES:
            few = rounds if size <= 500 else max(3, rounds // 2)
            found[f"pass-{size}-{density}"] = lambda size=size, density=density, few=few: cases.pass_speed(
                pack, size, density, few
            )
    found["full-scan"] = lambda: cases.scan_speed(full, 0.001, rounds, target=2.0, label=", all rules,")
    found["patterns"] = lambda: slowest_pattern(full)
    found["growth"] = lambda: growth(full, rounds)
    found["full-pass"] = lambda: cases.pass_speed(full, 500, 0.001, rounds, target=1.8, label=", all rules,")
    found["floor"] = lambda: cases.floor(pack, rounds)
    found["cold"] = lambda: cases.cold_speed(full, rounds)
    found["members"] = lambda: cases.small_members(pack, rounds)
    found["console"] = page_costs
    found["console-paint"] = paint_times
    found["node-incident"] = lambda: node_incident(rounds)
    if 2000 in sizes:
        found["linear"] = lambda: cases.linearity(pack, 3)
        found["memory"] = lambda: cases.memory(pack)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds a comparison (default 5)")
    parser.add_argument("--sizes", default="50,500,2000", help="bundle sizes in MB (default 50,500,2000)")
    parser.add_argument("--only", default="", help="only groups whose name contains this")
    parser.add_argument("--json", type=Path, default=cases.DATA / "results.json", help="where to write the results")
    options = parser.parse_args()
    pack = load_pack()
    patterns = sum(len(rule.match) for rule in pack.rules)
    few = sum(len(rule.match) for rule in hundred_patterns(pack).rules)
    print(
        f"{few} patterns ({patterns} where it says all rules), Python {platform.python_version()}, {platform.machine()}"
    )
    sizes = [int(size) for size in options.sizes.split(",")]
    results: list[Result] = []
    for name, group in groups(pack, options.rounds, sizes).items():
        if options.only in name:
            print(f"… {name}", file=sys.stderr)
            for result in group():
                results.append(result)
                print(_row(result), flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(
        json.dumps([{**asdict(result), "reached": result.is_reached} for result in results], indent=1)
    )


def _row(result: Result) -> str:
    aim = "" if result.target is None else f"{'≥' if result.better == 'higher' else '≤'} {result.target:g}"
    mark = "   " if not aim else "ok " if result.is_reached else "MISS"
    return f"{mark:5}{result.name:58}{result.value:10.3g} {result.unit:4}{aim:>10}"


if __name__ == "__main__":
    main()
