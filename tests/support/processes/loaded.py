"""Loads rules, checks and redaction patterns when imported, so that processes forked from here need not."""

from affidavit.bundle.file_recognition import recognise
from affidavit.knowledge import load_knowledge
from affidavit.redaction.redact import Around, Redactor

load_knowledge()
recognise("kernel/dmesg.current", b"[    0.000000] Linux version\n")
Redactor().secrets("", Around(is_cut=True))
