"""How the command ends. The one table from our errors to exit codes."""

from enum import IntEnum

from affidavit.errors import AffidavitError, Conflict, EvidenceUnavailable, InputRefused, NotFound, UpstreamFailed


class Exit(IntEnum):
    DONE = 0
    FOUND = 1
    REFUSED = 2
    UNAVAILABLE = 3
    BROKEN = 4
    INTERRUPTED = 130


EXIT_CODES = """Exit codes: 0 done · 1 --fail-on was reached, or evidence does not verify · 2 the input was refused ·
3 the evidence could not be read or stored · 4 an error of Affidavit's own · 130 interrupted"""

EVAL_EXIT_CODES = """Exit codes: 0 every gate holds · 1 a gate failed · 2 the input was refused ·
3 a result could not be written · 4 an error of Affidavit's own · 130 interrupted"""


def exit_code_of(error: AffidavitError) -> Exit:
    match error:
        case InputRefused() | NotFound() | Conflict():
            return Exit.REFUSED
        case EvidenceUnavailable() | UpstreamFailed():
            return Exit.UNAVAILABLE
        case _:
            return Exit.BROKEN
