"""What is known about faults: rules and suppressions as data, and the engine that matches their patterns."""
