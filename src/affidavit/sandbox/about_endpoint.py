"""Answers who a running sandbox is: its process id, nodes and collections."""

import json
import os

from affidavit.sandbox.aws.automation import Automation
from affidavit.sandbox.aws.request_routing import GatewayAnswer, GatewayRequest, Simulator

IDENTITY_PATH = "/_affidavit"


def identity_of(automation: Automation) -> Simulator:
    def answer(request: GatewayRequest) -> GatewayAnswer | None:
        if request.path != IDENTITY_PATH:
            return None
        said = {
            "pid": os.getpid(),
            "nodes": [node.instance_id for node in automation.fleet.nodes],
            "collections": len(automation.executions.all()),
            "start_requests": automation.start_requests,
            "failed_hooks": [str(failure) for failure in automation.hook_failures],
        }
        return GatewayAnswer(body=json.dumps(said).encode(), headers={"Content-Type": "application/json"})

    return answer
