"""Chat models for the sandbox: Bedrock's protocol, scripts, and models that lie."""
