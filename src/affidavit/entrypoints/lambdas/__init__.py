"""AWS Lambda functions, each named by its event: parse, call, answer."""

import os

# Pydantic looks for plugins in the metadata of every installed package, and we have none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
