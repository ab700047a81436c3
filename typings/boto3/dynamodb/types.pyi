from typing import Any

class TypeSerializer:
    def serialize(self, value: Any) -> dict[str, Any]: ...

class TypeDeserializer:
    def deserialize(self, value: dict[str, Any]) -> Any: ...
