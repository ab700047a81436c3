"""Gives the emulator SSM's documents, and commands that run one of them on instances by version and hash."""

import hashlib
import json
import time
from typing import Any


class NodeCommands:
    """Documents have one version here. A command ends well at once: no shell stands behind an instance."""

    def __init__(self, ssm: Any, ec2: Any) -> None:
        self._ssm, self._ec2, self._documents = ssm, ec2, dict[str, dict[str, Any]]()
        self._known, self._send = ssm.handle_request, ssm._send_command

    async def handle(self, method: str, path: str, headers: Any, body: bytes, query: Any) -> Any:
        operation = headers.get("x-amz-target", "").rpartition(".")[2]
        handler = {
            "CreateDocument": self._create,
            "DescribeDocument": self._describe,
            "GetDocument": self._get,
            "SendCommand": self._checked_send,
        }.get(operation)
        if handler is None:
            return await self._known(method, path, headers, body, query)
        return handler(json.loads(body or b"{}"))

    def managed(self) -> set[str]:
        """Instances that run have an agent."""
        return {name for name, one in self._ec2._instances.items() if one["State"]["Name"] == "running"}

    def _create(self, asked: dict[str, Any]) -> Any:
        content, name = str(asked["Content"]), str(asked["Name"])
        if name in self._documents:
            return self._refused("DocumentAlreadyExists", name)
        self._documents[name] = {
            "Name": name,
            "Hash": hashlib.sha256(content.encode()).hexdigest(),
            "HashType": "Sha256",
            "DocumentVersion": "1",
            "DefaultVersion": "1",
            "LatestVersion": "1",
            "DocumentType": asked.get("DocumentType", "Command"),
            "DocumentFormat": "JSON",
            "Status": "Active",
            "CreatedDate": time.time(),
            "_content": content,
        }
        return self._ssm.json_response({"DocumentDescription": self._told(name)})

    def _describe(self, asked: dict[str, Any]) -> Any:
        if asked["Name"] not in self._documents:
            return self._refused("InvalidDocument", f"Document with name {asked['Name']} does not exist.")
        return self._ssm.json_response({"Document": self._told(asked["Name"])})

    def _get(self, asked: dict[str, Any]) -> Any:
        if asked["Name"] not in self._documents:
            return self._refused("InvalidDocument", f"Document with name {asked['Name']} does not exist.")
        one = self._documents[asked["Name"]]
        return self._ssm.json_response({**self._told(asked["Name"]), "Content": one["_content"]})

    def _checked_send(self, asked: dict[str, Any]) -> Any:
        """As SSM: refuses another hash or version than the document's own, and values that it does not list."""
        one = self._documents.get(asked.get("DocumentName", ""))
        if one is None:
            return self._send(asked)
        if asked.get("DocumentHash", one["Hash"]) != one["Hash"]:
            return self._refused("InvalidDocument", "The document hash does not match.")
        if asked.get("DocumentVersion", "1") not in ("1", "$DEFAULT", "$LATEST"):
            return self._refused("InvalidDocumentVersion", "There is no such version.")
        declared = json.loads(one["_content"]).get("parameters", {})
        given: dict[str, list[str]] = asked.get("Parameters") or {}
        for name, values in given.items():
            if not set(values) <= set(declared.get(name, {}).get("allowedValues", ())):
                return self._refused("InvalidParameters", f"{name} does not take {values}.")
        return self._send(asked)

    def _told(self, name: str) -> dict[str, Any]:
        return {key: value for key, value in self._documents[name].items() if not key.startswith("_")}

    def _refused(self, code: str, message: str) -> Any:
        return self._ssm.error_response_json(code, message, 400)


def add_node_commands(ssm: Any, ec2: Any) -> None:
    """`ssm` and `ec2` are the emulator's service modules."""
    commands = NodeCommands(ssm, ec2)
    ssm.handle_request = commands.handle
    ssm._managed_instance_ids = commands.managed
