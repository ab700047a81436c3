"""Who may see a page: people and their roles, sessions, ways to log in, and what a browser is told to refuse."""
