"""Writes a notice as plain text, for topics that may end in a mail, a chat or a phone."""

from collections.abc import Iterator, Sequence

from affidavit.ports.notice_record import Notice, NoticeQuote


def plain_text(notice: Notice) -> str:
    return "\n".join(_lines(notice))


def how_to_go_on(notice: Notice) -> tuple[str, ...]:
    """What to run next, and how to tell a repeated notice from a new one."""
    if notice.is_test:
        return ("This is a test of the channel. Nothing happened.",)
    page = (f"Look at it: {notice.link}",) if notice.link else ()
    if notice.plan_id:
        return (
            f"Read it, then decide: affidavit remedy show {notice.plan_id}",
            *page,
            "Nothing is approved in a chat or by a reply.",
        )
    first = (
        f"Prove it again: affidavit verify {notice.incident_id}"
        if notice.is_diagnosed
        else f"Nothing more happens by itself. Run it again: affidavit incident redrive {notice.incident_id}"
    )
    return (
        first,
        f"All of it: affidavit incident show {notice.incident_id}",
        *page,
        f"After a crash a notice can come twice: this one is {notice.key}.",
    )


def facts(notice: Notice) -> tuple[str, ...]:
    """Which incident, about what, since when, and whether the alert is over."""
    over = notice.resolved_at
    return (
        f"Incident {notice.incident_id}, {notice.state}, attempt {notice.attempts}",
        f"About {', '.join(notice.resources) or 'nothing that the alert names'}",
        f"Since {notice.since:%Y-%m-%d %H:%M} UTC, account {notice.account}, {notice.region}",
        *((f"The alert is resolved since {over:%Y-%m-%d %H:%M} UTC",) if over else ()),
    )


def quoted(index: int, quote: NoticeQuote) -> tuple[str, str, str]:
    rest = f" … and {quote.cut} characters more" if quote.cut else ""
    return f"[{index}] {quote.shows}", f'    "{quote.text}"{rest}', f"    {quote.place}"


def _lines(notice: Notice) -> Iterator[str]:
    yield from (notice.cause, "", *facts(notice), *how_to_go_on(notice))
    if notice.proven_by_rules:
        yield from ("", "WHAT RULES ALONE CAN PROVE", notice.proven_by_rules)
    if notice.summary:
        yield from _conclusion(notice)
    yield from _listed("NOT KNOWN", notice.gaps)


def _conclusion(notice: Notice) -> Iterator[str]:
    yield notice.summary
    yield from _listed("OPEN: the conclusion needs this, and nothing shows it", notice.open_obligations)
    if notice.evidence:
        yield from ("", "EVIDENCE, each re-read from what the tool answered")
    for index, quote in enumerate(notice.evidence):
        yield from quoted(index, quote)
    if notice.plan:
        yield from ("", "PLAN")
    for number, step in enumerate(notice.plan, start=1):
        yield from (f"{number}. {step.action}", f"   {step.details}")


def _listed(title: str, entries: Sequence[str]) -> Iterator[str]:
    if entries:
        yield from ("", title, *(f"- {entry}" for entry in entries))
