"""When a fault was there, whether it is over, and how bad it is for that."""
