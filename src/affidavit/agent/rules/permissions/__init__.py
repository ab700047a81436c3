"""Permission faults: what was denied, which policy did it, and whether it is over."""
