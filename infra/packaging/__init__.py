"""The zips of the functions: what goes into each, where it comes from, and whether it starts."""
