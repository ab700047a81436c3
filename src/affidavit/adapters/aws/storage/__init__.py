"""S3 and DynamoDB behind the storage ports."""
