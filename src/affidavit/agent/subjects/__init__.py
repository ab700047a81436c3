"""What can be asked about each kind of subject. A new kind is a module here and a row in `table`."""
