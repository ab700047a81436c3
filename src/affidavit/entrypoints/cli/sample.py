"""`affidavit sample`."""

from pathlib import Path
from typing import TypeVar

from affidavit.bundle.workspace import prepare_output
from affidavit.entrypoints.cli.exits import Exit
from affidavit.errors import InputRefused
from affidavit.evaluation.generator import BundleSpec, Form, Layout, fault_names, generate, write
from affidavit.evaluation.truth_file import truth_name, truth_text

HEALTHY = "healthy"
Choice = TypeVar("Choice", Layout, Form)


def run_sample(*, out: Path, layout: str, faults: str, form: str | None, seed: int, with_truth: bool) -> Exit:
    spec = BundleSpec(layout=_one_of(Layout, layout, "--layout"), faults=_faults(faults), seed=seed)
    chosen_form = _usual_form(spec.layout) if form is None else _one_of(Form, form, "--form")
    prepare_output(out)
    bundle = generate(spec)
    path = write(bundle, out, chosen_form)
    print(path)
    if with_truth:
        truth = out / truth_name(bundle)
        truth.write_text(truth_text(bundle, path), "utf-8")
        print(truth)
    return Exit.DONE


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
