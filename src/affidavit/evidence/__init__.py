"""The vocabulary everything else speaks: records and pure functions, no input or output."""
