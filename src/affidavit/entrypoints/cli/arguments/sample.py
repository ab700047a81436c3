"""`affidavit sample`: its arguments and help."""

from pathlib import Path
from typing import Annotated

import typer


def sample(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the bundle.")] = Path(),
    layout: Annotated[
        str,
        typer.Option(
            help="Whose bundle: al2, al2023, ubuntu, node_diagnostic, bottlerocket, bottlerocket_nested or windows."
        ),
    ] = "al2023",
    faults: Annotated[
        str,
        typer.Option(
            help="What is broken, separated by commas: bootstrap, cert_expiry, cni_failure, disk_pressure, dns, "
            "image_pull, kernel_hang, oom, probes, storage_io; or healthy."
        ),
    ] = "oom",
    form: Annotated[
        str | None,
        typer.Option("--form", help="tar.gz, tar, zip or directory (default: as that collector writes it)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives other noise.")] = 1,
    instance_id: Annotated[str, typer.Option(help="The node it is from.")] = "i-0f3a9c1d7e5b24680",
    nodes: Annotated[int, typer.Option(min=1, max=1000, help="How many nodes: a bundle each, ids counted up.")] = 1,
    truth: Annotated[
        bool, typer.Option("--truth", help="Also write what is wrong in it, line by line, as a scenario for `eval`.")
    ] = False,
) -> None:
    """Write a made-up bundle of a broken node, to try the other commands on.

    The same options always give the same bytes.

    Example: affidavit sample --faults dns,image_pull --nodes 30 --out cluster
    """
    from affidavit.entrypoints.cli.sample import SampleOptions, run_sample

    options = SampleOptions(
        out=out,
        layout=layout,
        faults=faults,
        form=form,
        seed=seed,
        instance_id=instance_id,
        nodes=nodes,
        with_truth=truth,
    )
    raise typer.Exit(run_sample(options))
