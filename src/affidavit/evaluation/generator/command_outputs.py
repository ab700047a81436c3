"""Writes what commands printed and which files were copied, from `trees/*.yaml`: the part of a bundle without logs.

A tree maps a path to its text. Later trees of a layout overlay earlier ones; null takes a file away.
`{utf16: text}` is what PowerShell redirects, `{evtx: n}` n chunks of a Windows event log.
"""

from collections.abc import Sequence
from random import Random

from affidavit.evaluation.generator.bundle_truth import Problem
from affidavit.evaluation.generator.data_files import Data, load, mapping, texts
from affidavit.evaluation.generator.faults import PlantedEdit
from affidavit.evaluation.generator.tree import Tree

_MARK = "\ufeff"


def put_outputs(tree: Tree, layout: Data, edits: Sequence[PlantedEdit]) -> None:
    for name in texts(layout["trees"]):
        for path, content in load(f"trees/{name}.yaml").items():
            _put_output(tree, tree.path(tree.node.writer("paths").write(path)), content)
    made = [edit for edit in edits if tree.path(edit.file) in tree.files]
    for edit in made:
        _apply(tree, edit)
    # Lines are counted last: a later edit may have moved those of an earlier one.
    tree.problems.extend(_problem(tree, edit) for edit in made if not edit.is_decoy)


def _put_output(tree: Tree, path: str, content: object) -> None:
    if content is None:
        tree.files.pop(path, None)
        return
    special = mapping(content)
    text = str(special.get("utf16", "")) if special else str(content)
    text = tree.node.writer(path).write(text).replace("\n", tree.newline)
    if "evtx" in special:
        tree.put(path, _evtx(int(str(special["evtx"])), Random(path)))
    else:
        tree.put(path, (_MARK + text).encode("utf-16-le") if special else text.encode())


def _evtx(chunks: int, rng: Random) -> bytes:
    """The signatures and sizes of an event log around bytes that mean nothing."""
    header = b"ElfFile\x00" + bytes(32) + (chunks).to_bytes(2, "little")
    chunk = [b"ElfChnk\x00" + rng.randbytes(3064) + bytes(1024) for _ in range(chunks)]
    return header.ljust(4096, b"\x00") + b"".join(chunk)


def _apply(tree: Tree, edit: PlantedEdit) -> None:
    path = tree.path(edit.file)
    before = _text_of(tree.files[path])
    if edit.find not in before:
        raise ValueError(f"fault {edit.fault}: {path} does not hold {edit.find!r}; make the fault and the file agree")
    after = before.replace(edit.find, edit.replace)
    tree.files[path] = after.encode("utf-16-le" if after.startswith(_MARK) else "utf-8")


def _text_of(content: bytes) -> str:
    """With the mark of UTF-16 in front where the file has one."""
    return content.decode("utf-16-le" if content.startswith(_MARK.encode("utf-16-le")) else "utf-8")


def _problem(tree: Tree, edit: PlantedEdit) -> Problem:
    path = tree.path(edit.file)
    lines = tuple(n for n, line in enumerate(_text_of(tree.files[path]).split("\n"), 1) if edit.text in line)
    if not lines:
        raise ValueError(f"fault {edit.fault}: {path} does not hold {edit.text!r} after all edits")
    return Problem(
        fault=edit.fault,
        file=path,
        severity=edit.severity,
        lines=lines,
        count=len(lines),
        first_time=None,
        last_time=None,
        text=edit.text,
    )
