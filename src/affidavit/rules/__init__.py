"""What is known about faults: rules and suppressions as data, how they load, and tools for their authors."""
