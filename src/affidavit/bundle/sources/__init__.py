"""Where members come from: tar, zip, gzip, a directory; and how a path is opened."""
