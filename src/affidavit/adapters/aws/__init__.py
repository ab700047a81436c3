"""S3, DynamoDB, SSM, EC2, EKS, SNS: the only importers of boto3 beside the sandbox."""
