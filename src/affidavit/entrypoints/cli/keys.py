"""`affidavit keys`: keys to sign results with, and keys of the MCP server's clients."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from affidavit.entrypoints.cli.exit_codes import EXIT_CODES

if TYPE_CHECKING:
    from affidavit.ports.signer import Signer

app = typer.Typer(
    name="keys",
    help="Keys to sign results with, and keys of the MCP server's clients.",
    no_args_is_help=True,
    epilog=EXIT_CODES,
)
_KMS = "awskms:"
KeysFile = Annotated[Path, typer.Option(metavar="FILE", help="The file with keys of clients (mcp --keys).")]


@app.callback()
def keys() -> None:
    """Keys to sign results with, and keys of the MCP server's clients."""


@app.command("new", epilog=EXIT_CODES)
def new(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write affidavit.key and affidavit.pub.")] = Path(),
) -> None:
    """Make a pair of Ed25519 keys: affidavit.key (for its owner alone) and affidavit.pub.

    Sign with `affidavit analyze BUNDLE --out DIR --sign affidavit.key`; others check with
    `affidavit verify DIR/findings_index.json BUNDLE --key affidavit.pub`.

    Example: affidavit keys new --out keys
    """
    from affidavit.signing.keys import key_id_of, read_public_key, write_new_keys

    private, public = write_new_keys(out)
    typer.echo(f"{private} (keep it to yourself) and {public} written")
    typer.echo(f"key id {key_id_of(read_public_key(public))}")


@app.command("add", epilog=EXIT_CODES)
def add(
    name: Annotated[str, typer.Argument(help="Who the key is for: letters, digits and . _ @ -")],
    file: KeysFile,
    scope: Annotated[
        list[str] | None, typer.Option(help="read, collect or files; can be repeated.", show_default="read")
    ] = None,
) -> None:
    """Make a key for a client of the MCP server and print it once. FILE keeps its sha256 and scopes.

    Serve with `affidavit mcp --http --keys FILE`. A server that runs takes the new key at once.

    Example: affidavit keys add oncall-agent --file keys.json --scope read
    """
    from affidavit.entrypoints.http.client_keys import add_client_key

    typer.echo(add_client_key(file, name, scope or ["read"]))
    typer.echo(f"the key of {name}, shown once; {file} holds its digest", err=True)


@app.command("revoke", epilog=EXIT_CODES)
def revoke(name: Annotated[str, typer.Argument(help="The client whose key is revoked.")], file: KeysFile) -> None:
    """Take the key of a client of the MCP server away. A server that runs refuses it from now on.

    Example: affidavit keys revoke oncall-agent --file keys.json
    """
    from affidavit.entrypoints.http.client_keys import revoke_client_key

    revoke_client_key(file, name)
    typer.echo(f"the key of {name} is revoked")


def signer_of(key: str) -> "Signer":
    """The signer that `--sign` names: a PEM file, or `awskms:` and a key id, alias or ARN."""
    from affidavit.signing.keys import read_signer

    if not key.startswith(_KMS):
        return read_signer(Path(key))
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.kms_signer import KmsSigner
    from affidavit.settings import Settings

    named = key.removeprefix(_KMS)
    region = named.split(":")[3] if named.startswith("arn:") else Settings.from_environment().region
    return KmsSigner(AwsClients(region), named)
