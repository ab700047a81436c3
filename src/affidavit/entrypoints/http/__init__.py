"""What every HTTP door shares: authentication, listening socket, ASGI for Lambda events."""
