"""A directory and an SQLite file in place of S3 and DynamoDB."""
