from collections.abc import Mapping

class Session:
    def __init__(self, session_vars: Mapping[str, tuple[object, ...]] | None = None) -> None: ...
