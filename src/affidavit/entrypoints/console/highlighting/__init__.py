"""Text with a part of it lit: recorded answers by JSON Pointer, log lines by byte range."""
