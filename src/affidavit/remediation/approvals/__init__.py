"""Who approves, and what an approval means."""
