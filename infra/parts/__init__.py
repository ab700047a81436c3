"""What stacks are made of: functions, doors, networks, parameters."""
