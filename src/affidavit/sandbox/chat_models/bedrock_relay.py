"""Real chat models for a sandbox: requests go on to Bedrock with the credentials of whoever starts the relay.

The processes of the sandbox hold keys that open nothing; the real ones never reach them.
"""

import json
import os
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from affidavit.errors import InputRefused
from affidavit.sandbox.chat_models.bedrock import BedrockSimulator, Json, Refuses, Reply, ScriptedAnswers

READ_SECONDS = 60
API_KEY = "AWS_BEARER_TOKEN_BEDROCK"


@dataclass
class BedrockRelay(BedrockSimulator):
    client: Any = None

    def reply_to(self, model_id: str, body: Json) -> Reply:
        try:
            said: Json = self.client.converse(modelId=model_id, **body)
        except ClientError as error:
            told = error.response.get("Error", {})
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
            return Refuses(status=status, code=told.get("Code", "Unknown"), message=told.get("Message", ""))
        except BotoCoreError as error:
            # No credentials, no network: what a chat model's caller would see as a service that is not there.
            return Refuses(status=503, code="ServiceUnavailableException", message=str(error))
        said.pop("ResponseMetadata", None)
        return ScriptedAnswers(body=json.dumps(said).encode())


def relay_to_bedrock(region: str) -> BedrockRelay:
    """Uses the environment as it is now: make it before the sandbox's variables are set."""
    session = boto3.Session()
    if session.get_credentials() is None and not os.environ.get(API_KEY):
        raise InputRefused("there are no AWS credentials to ask Bedrock with", hint=f"log in, or set {API_KEY}")
    config = Config(retries={"total_max_attempts": 1}, read_timeout=READ_SECONDS)
    return BedrockRelay(scripts={}, client=session.client("bedrock-runtime", region, config=config))
