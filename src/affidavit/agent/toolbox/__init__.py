"""Calls tools for the chat model, checks and records their answers."""
