"""YAML as plain data, by the reader that is written in C where there is one: ten times as fast."""

from typing import Any

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """Raises yaml.YAMLError."""
    return yaml.load(text, Loader=_Loader)
