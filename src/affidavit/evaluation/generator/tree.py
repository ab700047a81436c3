"""The files of a bundle while it is made, and the problems planted in it."""

from dataclasses import dataclass, field

from affidavit.evaluation.generator.archives import stored_gzip
from affidavit.evaluation.generator.bundle_truth import Problem
from affidavit.evaluation.generator.node_identity import GeneratedNode
from affidavit.evaluation.generator.spec import Layout


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Paths are those inside the archive: `root` is the collector's own top folder, if it has one."""

    node: GeneratedNode
    root: str = ""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    problems: list[Problem] = field(default_factory=list[Problem])
    silent: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    logs: set[str] = field(default_factory=set[str])

    @property
    def newline(self) -> str:
        own = b"\r\n" if self.node.spec.layout is Layout.WINDOWS else b"\n"
        wanted = self.node.spec.newline
        return (own if wanted is None else wanted).decode()

    def path(self, file: str) -> str:
        return f"{self.root}{file}"

    def put(self, path: str, content: bytes) -> None:
        """A path that ends in `.gz` is packed on the way in."""
        self.files[path] = stored_gzip(content) if path.endswith(".gz") else content
