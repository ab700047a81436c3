"""Archive or directory in, files and a manifest out. Everything read here is treated as hostile."""
