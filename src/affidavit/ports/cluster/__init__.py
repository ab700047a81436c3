"""A cluster and its hosts, as we need them: how its API is reached, what it sees, whom it asks, what a host left."""
