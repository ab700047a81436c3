"""From a proven diagnosis to a repair that is sealed, approved, proven by re-reading, and undone to the byte."""
