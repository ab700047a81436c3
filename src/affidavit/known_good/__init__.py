"""Known-good states of Lambda functions: captured as re-read JSON, content-addressed, compared with what is live."""
