"""Who may call the sandbox: only programs that sign with the keys of this start, never a page in a browser."""
