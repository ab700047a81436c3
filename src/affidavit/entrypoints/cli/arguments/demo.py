"""`affidavit demo`: its arguments and help."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    provider: Annotated[
        str, typer.Option(help="offline: rules conclude; bedrock: a chat model of your own account, for its price.")
    ] = "offline",
    model: Annotated[
        str, typer.Option(envvar="CHAT_MODEL_ID", help="With bedrock: a model id or inference profile.")
    ] = "",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the node's bundle and report.")] = Path(
        "affidavit-demo"
    ),
    console: Annotated[
        bool, typer.Option("--console", help="Leave the console open at the end, to look around; Ctrl-C ends it.")
    ] = False,
) -> None:
    """Tell the whole story on this machine: a fault, its alert, a diagnosis that is proven, and a repair that is, too.

    Needs no AWS account, takes under two minutes, and leaves nothing running; with --console until you stop it.

    Example: affidavit demo --out build/demo
    """
    from affidavit.entrypoints.cli.demo.command import DemoOptions, run_demo

    raise typer.Exit(run_demo(DemoOptions(provider=provider, model=model, out=out, has_console=console)))
