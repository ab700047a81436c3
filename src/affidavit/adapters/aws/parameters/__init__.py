"""Settings that Parameter Store keeps for deployed functions."""
