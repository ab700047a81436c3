"""From an alert to a stored, verified diagnosis, once and only once. No chat model, no agent library."""
