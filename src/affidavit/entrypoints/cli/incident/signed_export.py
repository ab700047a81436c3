"""Signs an exported incident into a statement beside it, and says what is wrong with such a statement."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from affidavit.entrypoints.cli.keys import signer_of
from affidavit.incidents.export.cassette import Cassette

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def statement_path(export: Path) -> Path:
    return export.with_name(f"{export.name}.statement.json")


def sealed_export(cassette: Cassette, told: bytes, export: Path, key: str) -> bytes:
    """The envelope for `told`, which is written to `export`. Raises InputRefused for a key that cannot sign."""
    from affidavit.signing.envelope import sealed
    from affidavit.signing.statement import diagnosis_statement

    statement = diagnosis_statement(str(cassette.incident.incident_id), {export.name: told}, _verdict(cassette))
    return sealed(statement, signer_of(key))


def signature_problems(cassette: Cassette, told: bytes, export: Path, key: "Ed25519PublicKey") -> Iterator[str]:
    """What is wrong with the statement beside an export, under the key that the caller trusts."""
    from affidavit.signing.envelope import opened
    from affidavit.signing.statement import diagnosis_statement

    there = statement_path(export)
    try:
        statement = opened(there.read_bytes(), key, name=str(there))
    except OSError:
        yield f"there is no {there}, so nobody signed this export"
        return
    if statement is None:
        yield f"{there} is not signed by this key"
    elif statement != diagnosis_statement(
        str(cassette.incident.incident_id), {_signed_name(statement): told}, _verdict(cassette)
    ):
        yield f"{export} is not the export that was signed"


def _signed_name(statement: dict[str, Any]) -> str:
    """An export may be renamed; its bytes may not change."""
    subjects = cast(list[dict[str, Any]], statement.get("subject") or [])
    return str(subjects[0].get("name")) if subjects else ""


def _verdict(cassette: Cassette) -> dict[str, Any]:
    diagnosis = cassette.diagnosis
    return {
        "diagnosed": diagnosis is not None,
        "grade": str(diagnosis.grade) if diagnosis is not None and diagnosis.grade is not None else None,
        "replays": not cassette.notes,
    }
