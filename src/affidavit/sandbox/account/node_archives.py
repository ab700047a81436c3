"""The archive that a node of the sandbox would upload: always the same bytes for the same node."""

import tempfile
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from zlib import crc32

from affidavit.evaluation.generator import BundleSpec, Form, generate, write
from affidavit.sandbox.account.nodes import FleetNode

UP_FOR = timedelta(days=3)


@lru_cache(maxsize=64)
def archive_of(node: FleetNode) -> bytes:
    seed = crc32(node.instance_id.encode())
    spec = BundleSpec(layout=node.layout, faults=node.faults, instance_id=node.instance_id, seed=seed)
    if node.collected_at is not None:
        spec = replace(spec, collected_at=node.collected_at, booted_at=node.collected_at - UP_FOR)
    with tempfile.TemporaryDirectory() as folder:
        return write(generate(spec), Path(folder), Form.TAR_GZ).read_bytes()
