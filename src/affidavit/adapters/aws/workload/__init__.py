"""Reads a Lambda function and what it needs from AWS, and breaks the demo one on purpose."""
