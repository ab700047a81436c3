"""Commands that pages show in fenced blocks, in order, and the world in which a reader would run them."""

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.support.processes.command import affidavit, run_forked

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A block without a language may hold no command, or nobody would run it.
LANGUAGES = ("sh", "console")
_KUBELET = b"Jan 15 10:00:00 ip-10-0-1-7 kubelet[1234]: E0115 10:00:00.000000 1234 kubelet.go:1] PLEG is not healthy\n"
_NODE = "eks_i-0f3a9c1d7e5b24680_2026-01-15_1030-UTC_0.7.9.tar.gz"


@dataclass(frozen=True, kw_only=True)
class ShownCommand:
    """One line of a block. `text` is without prompt and comment."""

    page: str
    text: str

    @property
    def words(self) -> list[str]:
        """Of our own command; empty when the line is another program's."""
        words = shlex.split(self.text.rpartition("| ")[2] if self.text.startswith("journalctl") else self.text)
        return words[1:] if words and words[0] == "affidavit" else []


def pages() -> list[Path]:
    written = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "ARCHITECTURE.md"]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *written, *sorted((ROOT / "skills").rglob("*.md"))]


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Language and text of each fenced block."""
    for found in _FENCE.finditer(page.read_text("utf-8")):
        yield found[1].strip(), found[2]


def shown_commands(page: Path) -> Iterator[ShownCommand]:
    """Of a session only what was typed; of a script every line."""
    for language, text in blocks(page):
        if language in LANGUAGES:
            joined = text.replace("\\\n", " ")  # a line that goes on
            typed = [line for line in joined.splitlines() if language == "sh" or line.startswith("$ ")]
            for line in typed:
                command = re.sub(r"\s+#.*$", "", line.removeprefix("$ ")).strip()
                if command:
                    yield ShownCommand(page=str(page.relative_to(ROOT)), text=command)


class ReadersFolder:
    """Where a page's commands run: the files that pages speak of, and a store of its own without AWS."""

    def __init__(self, folder: Path, bundle: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in ("bundle.tar.gz", "good-node.tar.gz", "bad-node.tar.gz", _NODE, "BUNDLE", "FILE"):
            (folder / name).symlink_to(bundle)
        for name in ("bundles", "DIR"):
            (folder / name).mkdir()
            (folder / name / _NODE).symlink_to(bundle)

    def run(self, shown: ShownCommand) -> tuple[int, str]:
        """Exit code, and everything it said."""
        words = [self._filled(word) for word in shown.words]
        if words[:2] == ["incident", "replay"] and not (self.folder / words[2]).exists():
            self._quietly("incident", "export", self._incident, "--out", words[2])
        if words[-1:] == ["-"]:
            done = affidavit(*words, stdin=_KUBELET, env=self._environment)
            return done.returncode, done.stdout + done.stderr
        ended, out, err = run_forked(words, env=self._environment, cwd=self.folder, seconds=120)
        return ended.code, out + err

    def _filled(self, word: str) -> str:
        if word in ("INCIDENT", "inc-4f2a91c07b3e"):
            return self._incident
        if word == "INSTANCE":
            return "i-0f3a9c1d7e5b24680"
        return _NODE if "…" in word else word

    @cached_property
    def _incident(self) -> str:
        """The one that the page has made by now, or else one of ours."""
        scenario = "permission-s3-statement-removed"
        if f"scenario-{scenario}" not in self._quietly("incident", "list"):
            self._quietly("incident", "submit", "--scenario", scenario)
        return f"scenario-{scenario}"

    def _quietly(self, *words: str) -> str:
        ended, out, err = run_forked(words, env=self._environment, cwd=self.folder, seconds=120)
        assert ended.code == 0, out + err
        return out

    @property
    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "AFFIDAVIT_DATA": str(self.folder / "data"),
            "CHAT_PROVIDER": "offline",
            "SLACK_BOT_TOKEN": "a token that nobody sends",
            "SLACK_CHANNEL": "C1",
        }
