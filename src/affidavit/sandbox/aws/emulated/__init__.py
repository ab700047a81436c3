"""What the emulator lacks or asks differently from AWS."""
