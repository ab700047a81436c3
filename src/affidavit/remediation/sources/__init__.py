"""Where the arguments of repairs come from: known-good states, CloudTrail, versions that AWS keeps."""
