"""`affidavit fleet`: questions over many nodes at once. Heavy modules are imported on use."""

import csv
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from affidavit.entrypoints.cli.exit_codes import EXIT_CODES, Exit
from affidavit.errors import InputRefused

if TYPE_CHECKING:
    from affidavit.fleet.answer import FleetAnswer
    from affidavit.fleet.sql_with_values import Inquiry


class AnswerFormat(StrEnum):
    JSON = "json"
    TABLE = "table"
    CSV = "csv"


app = typer.Typer(
    name="fleet",
    help="Ask over many nodes at once, in SQL.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EXIT_CODES,
)


@app.command(epilog=EXIT_CODES)
def add(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that holds bundles.")],
    cluster: Annotated[str, typer.Option(help="The cluster they are from.")] = "local",
) -> None:
    """Index the bundles of a folder and put them among the fleet's tables (in AFFIDAVIT_DATA).

    Bundles that cannot be used are named and stop no other; the exit code is then 3.

    Example: affidavit fleet add bundles --cluster production
    """
    from affidavit.bootstrap import build_app, build_library
    from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless
    from affidavit.fleet.publish import publish
    from affidavit.investigation import analyze
    from affidavit.nodes.ingest.folder_bundles import ingest_directory
    from affidavit.settings import Settings

    library = build_library(build_app(Settings.from_environment()))
    done = ingest_directory(directory, library, analyze=analyze, cluster=cluster)
    new = sum(publish(library, each.marker) for each in done.ingested)
    typer.echo(f"{len(done.ingested)} bundle(s), {new} new among the fleet's tables")
    for refused in done.refused:
        typer.echo(harmless(f"refused {refused.path.name}: {refused.error}. {refused.error.hint}"), err=True)
    if done.refused:
        raise typer.Exit(Exit.UNAVAILABLE)


@app.command(epilog=EXIT_CODES)
def ask(
    question: Annotated[str | None, typer.Argument(help="Name of a question; `fleet questions` lists them.")] = None,
    sql: Annotated[str | None, typer.Option(help="A SELECT of your own over findings and nodes.")] = None,
    cluster: Annotated[
        list[str] | None, typer.Option(help="Only this cluster; may be repeated. Athena needs one.")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only indexes made on this day or later.")
    ] = None,
    workgroup: Annotated[
        str, typer.Option(help="Ask Athena in this workgroup, not this machine (ATHENA_WORKGROUP).")
    ] = "",
    database: Annotated[str, typer.Option(help="Athena's database (ATHENA_DATABASE).")] = "",
    form: Annotated[
        AnswerFormat, typer.Option("--format", help="json: one object a row; table: for a person; csv: for a sheet.")
    ] = AnswerFormat.JSON,
) -> None:
    """Ask a question; one row of the answer a line. How many indexes it rests on goes to standard error.

    Example: affidavit fleet ask common-faults --format table
    """
    answer = _asked(_inquiry(question, sql, cluster or [], since), workgroup, database)
    _print(answer, form)
    counted = f"{answer.indexes} index(es) asked" if answer.indexes is not None else "nobody counted the indexes"
    typer.echo(f"{counted}; a node without one is in no answer", err=True)


@app.command(epilog=EXIT_CODES)
def questions() -> None:
    """List the questions that have a name.

    Example: affidavit fleet questions
    """
    from affidavit.fleet.questions import QUESTIONS

    for each in QUESTIONS:
        typer.echo(f"{each.name:16}{each.about}")


@app.command(epilog=EXIT_CODES)
def tables(
    bucket: Annotated[str, typer.Argument(metavar="BUCKET", help="The logs bucket of the deployment.")],
) -> None:
    """Print the statements that make the tables in Athena.

    Example: affidavit fleet tables my-logs-bucket
    """
    from affidavit.fleet.athena_tables import table_statements

    typer.echo(";\n\n".join(table_statements(bucket)) + ";")


def _inquiry(name: str | None, sql: str | None, clusters: Sequence[str], since: datetime | None) -> "Inquiry":
    from affidavit.fleet.questions import QUESTIONS, question
    from affidavit.fleet.sql_with_values import FleetScope, Inquiry

    if (name is None) == (sql is None):
        raise InputRefused("ask one thing", hint="give the name of a question, or --sql")
    if sql is not None:
        if clusters or since is not None:
            raise InputRefused("--cluster and --since are for named questions", hint="say it in a WHERE of your SQL")
        return Inquiry(sql=sql)
    found = question(name or "")
    if found is None:
        raise InputRefused(
            f"there is no question {name!a}", hint=f"there are {', '.join(each.name for each in QUESTIONS)}"
        )
    return found.asked(FleetScope(clusters=tuple(clusters), since=since.date() if since is not None else None))


def _asked(inquiry: "Inquiry", workgroup: str, database: str) -> "FleetAnswer":
    from affidavit.settings import Settings

    settings = Settings.from_environment()
    workgroup, database = workgroup or settings.athena_workgroup, database or settings.athena_database
    if workgroup:
        from affidavit.adapters.aws.athena import AthenaFleet
        from affidavit.adapters.aws.clients import AwsClients

        return AthenaFleet(AwsClients(settings.region), workgroup=workgroup, database=database).ask(inquiry)
    from affidavit.bootstrap import OBJECTS
    from affidavit.fleet.local_query import ask_folder

    return ask_folder(settings.data_dir / OBJECTS, inquiry)


def _print(answer: "FleetAnswer", form: AnswerFormat) -> None:
    match form:
        case AnswerFormat.JSON:
            for row in answer.rows:
                typer.echo(json.dumps(dict(zip(answer.columns, row, strict=True)), default=str))
        case AnswerFormat.CSV:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(answer.columns)
            writer.writerows(answer.rows)
        case AnswerFormat.TABLE:
            _print_table(answer)
        case _:
            assert_never(form)


def _print_table(answer: "FleetAnswer") -> None:
    from rich.table import Table

    from affidavit.entrypoints.report.terminal_escapes_and_colours import make_console, text

    table = Table(*answer.columns, box=None, pad_edge=False)
    for row in answer.rows:
        table.add_row(*(text("" if value is None else str(value)) for value in row))
    make_console(no_color=False).print(table)
