"""Puts a page together as one HTML file that needs nothing else: its head, style, body, data and script."""

from dataclasses import dataclass
from importlib.resources import files
from string import Template

_REPORT = "affidavit.entrypoints.report"


@dataclass(frozen=True, kw_only=True)
class PageParts:
    """`frame` is around every page of ours: its policy lets nothing be fetched."""

    frame: str
    body: str
    style: str
    script: str

    @property
    def size(self) -> int:
        return sum(len(part.encode()) for part in (self.frame, self.body, self.style, self.script))

    def page(self, *, title: str, data: str, **slots: str) -> str:
        """`title` and `slots` are HTML, `data` is JSON made safe for a script element."""
        body = Template(self.body).substitute(slots)
        return Template(self.frame).substitute(title=title, style=self.style, body=body, data=data, script=self.script)


def load_page(folder: str, name: str) -> PageParts:
    """`name` is that of the style and the script in `folder`."""
    own = files(f"{_REPORT}.{folder}")
    body, style, script = (own.joinpath(file).read_text("utf-8") for file in ("body.html", f"{name}.css", f"{name}.js"))
    return PageParts(
        frame=files(_REPORT).joinpath("frame.html").read_text("utf-8"), body=body, style=style, script=script
    )
