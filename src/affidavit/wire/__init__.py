"""Records that leave the program as JSON: their base, truncation, and how long an answer may be."""
