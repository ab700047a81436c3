"""What must not leave: secrets always, personal data when asked. Patterns are data, with samples."""
