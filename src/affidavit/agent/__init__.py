"""The diagnostician: a chat model asks, code checks. Only this folder imports LangGraph."""
