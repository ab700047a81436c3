"""What each question about a node takes and answers, exactly as it stands on the wire: one module a question."""
