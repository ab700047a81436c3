"""A laptop AWS: an emulator, and simulators for what it lacks, joined by endpoint variables."""
