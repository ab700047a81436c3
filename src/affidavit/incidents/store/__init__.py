"""What is stored about an incident: its state, its context, its long parts."""
