"""The emulator, the simulators beside it, and the resources made in them."""
