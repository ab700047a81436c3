"""Questions about Lambda functions: logs, IAM, configuration, network. They read; nothing here can act."""
