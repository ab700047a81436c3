"""Programs of ours as child processes."""
