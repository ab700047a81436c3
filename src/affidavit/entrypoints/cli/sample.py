"""Runs `affidavit sample`: writes made-up bundles of broken nodes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from affidavit.bundle.atomic_publishing import prepare_output
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.errors import InputRefused
from affidavit.evaluation.generator import BundleSpec, Form, Layout, fault_names, generate, write
from affidavit.evaluation.nodes.truth_file_writer import truth_name, truth_text

HEALTHY = "healthy"
INSTANCE_ID: Final = re.compile(r"i-[0-9a-f]{8,17}")
Choice = TypeVar("Choice", Layout, Form)


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    out: Path
    layout: str
    faults: str
    form: str | None
    seed: int
    instance_id: str
    nodes: int
    with_truth: bool


def run_sample(options: SampleOptions) -> Exit:
    specs = list(_specs(options))
    form = _usual_form(specs[0].layout) if options.form is None else _one_of(Form, options.form, "--form")
    prepare_output(options.out)
    for spec in specs:
        _write_one(spec, form, options)
    return Exit.DONE


def _specs(options: SampleOptions) -> Iterator[BundleSpec]:
    """One spec per node. The first has the id and seed that were given; the others count up from them."""
    if not INSTANCE_ID.fullmatch(options.instance_id):
        raise InputRefused(
            f"--instance-id {options.instance_id}: not an instance id", hint="such as i-0f3a9c1d7e5b24680"
        )
    layout, faults = _one_of(Layout, options.layout, "--layout"), _faults(options.faults)
    digits = options.instance_id.removeprefix("i-")
    for number in range(options.nodes):
        instance = f"i-{(int(digits, 16) + number) % 16 ** len(digits):0{len(digits)}x}"
        yield BundleSpec(layout=layout, faults=faults, seed=options.seed + number, instance_id=instance)


def _write_one(spec: BundleSpec, form: Form, options: SampleOptions) -> None:
    bundle = generate(spec)
    path = _named_by_node(write(bundle, options.out, form), spec)
    print(path)
    if options.with_truth:
        truth = options.out / truth_name(bundle)
        truth.write_text(truth_text(bundle, path), "utf-8")
        print(truth)


def _named_by_node(path: Path, spec: BundleSpec) -> Path:
    """Puts the node into the file name, because neither Bottlerocket's own name nor its content tells it."""
    if spec.instance_id in path.name:
        return path
    return path.replace(path.with_name(f"{spec.instance_id}_{path.name}"))


def _one_of(kind: type[Choice], given: str, option: str) -> Choice:
    try:
        return kind(given)
    except ValueError:
        raise InputRefused(
            f"{option} {given}: there is no such thing",
            hint=f"one of: {', '.join(choice.value for choice in kind)}",
        ) from None


def _usual_form(layout: Layout) -> Form:
    return Form.ZIP if layout is Layout.WINDOWS else Form.TAR_GZ


def _faults(given: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in given.split(",") if name.strip() and name.strip() != HEALTHY)
    if unknown := [name for name in names if name not in fault_names()]:
        raise InputRefused(
            f"--faults {', '.join(unknown)}: there is no such fault",
            hint=f"any of: {', '.join(fault_names())}",
        )
    return names
