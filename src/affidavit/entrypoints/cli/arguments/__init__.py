"""The arguments, options and help of single commands. The modules that do the work are imported when they run."""
