"""AWS Lambda functions, each named by its event: parse, call, answer."""
