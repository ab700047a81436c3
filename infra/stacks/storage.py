"""Where bundles lie: the logs bucket, its key, and the queue that uploads are announced in."""

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import names
from infra.options import TOOLS, Options
from infra.rights.collecting_role import role_arn
from infra.rights.uploaders import Uploaders
from infra.rights.wildcards import acknowledge

ARCHIVE_ENDINGS = (".tar.gz", ".tgz", ".zip")
INDEXING_TIMEOUT = Duration.minutes(15)
ATTEMPTS = 3
_ADMINISTER = (
    "kms:CancelKeyDeletion",
    "kms:CreateAlias",
    "kms:CreateGrant",
    "kms:DeleteAlias",
    "kms:DescribeKey",
    "kms:DisableKey",
    "kms:EnableKey",
    "kms:EnableKeyRotation",
    "kms:GetKeyPolicy",
    "kms:GetKeyRotationStatus",
    "kms:ListGrants",
    "kms:ListKeyPolicies",
    "kms:ListResourceTags",
    "kms:PutKeyPolicy",
    "kms:RevokeGrant",
    "kms:ScheduleKeyDeletion",
    "kms:TagResource",
    "kms:UntagResource",
    "kms:UpdateAlias",
    "kms:UpdateKeyDescription",
)
_USE = ("kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo")


class Storage(Stack):
    def __init__(self, scope: Construct, name: str, *, options: Options) -> None:
        super().__init__(scope, name, description="Affidavit: bundles of node logs", analytics_reporting=False)
        keep = RemovalPolicy.RETAIN if options.keeps_data else RemovalPolicy.DESTROY
        self.key = self._data_key(options, keep)
        self.messages_key = self._messages_key(options, keep)
        self.dead_uploads = _queue(self, "DeadUploads", options.name("uploads-dead"), keeps=Duration.days(14))
        self.uploads = _queue(
            self,
            "Uploads",
            options.name("uploads"),
            keeps=Duration.days(4),
            visible_after=Duration.minutes(90),
            dead_letters=sqs.DeadLetterQueue(queue=self.dead_uploads, max_receive_count=ATTEMPTS),
        )
        self._accept_events(options)
        self.bucket = self._bucket(options, keep)
        Uploaders(self, prefix=options.prefix, endings=ARCHIVE_ENDINGS).admit(self.bucket, self.key)

    def _data_key(self, options: Options, keep: RemovalPolicy) -> kms.Key:
        return kms.Key(
            self,
            "DataKey",
            alias=f"alias/{options.name('data')}",
            description="Bundles, indexes and records of incidents",
            enable_key_rotation=True,
            removal_policy=keep,
            policy=iam.PolicyDocument(statements=[*_owned_by_account(), *_only_known_tools(options)]),
        )

    def _messages_key(self, options: Options, keep: RemovalPolicy) -> kms.Key:
        """Alarms are sent by CloudWatch, which cannot use AWS's own key for SNS."""
        senders = iam.PolicyStatement(
            sid="AlarmsAndRulesMayPublish",
            principals=[iam.ServicePrincipal(f"{name}.amazonaws.com") for name in ("cloudwatch", "events", "sns")],
            actions=["kms:Decrypt", "kms:GenerateDataKey"],
            resources=["*"],
            conditions={"StringEquals": {"aws:SourceAccount": self.account}},
        )
        return kms.Key(
            self,
            "MessagesKey",
            alias=f"alias/{options.name('messages')}",
            description="Alerts on their way",
            enable_key_rotation=True,
            removal_policy=keep,
            policy=iam.PolicyDocument(statements=[*_owned_by_account(), senders]),
        )

    def _accept_events(self, options: Options) -> None:
        self.uploads.add_to_resource_policy(
            iam.PolicyStatement(
                sid="TheBucketAnnouncesUploads",
                principals=[iam.ServicePrincipal("s3.amazonaws.com")],
                actions=["sqs:SendMessage"],
                resources=[self.uploads.queue_arn],
                conditions={
                    "StringEquals": {"aws:SourceAccount": self.account},
                    "ArnEquals": {"aws:SourceArn": names.placed(names.bucket_arn(options.prefix))},
                },
            )
        )

    def _bucket(self, options: Options, keep: RemovalPolicy) -> s3.Bucket:
        visits = s3.Bucket(
            self,
            "Visits",
            bucket_name=names.placed(names.bucket_name(options.name("access"))),
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[s3.LifecycleRule(expiration=Duration.days(90))],
            removal_policy=keep,
        )
        acknowledge(
            visits, "AwsSolutions-S1", "It holds the access log itself; logging it into itself would never end."
        )
        bucket = s3.Bucket(
            self,
            "Logs",
            bucket_name=names.placed(names.bucket_name(options.prefix)),
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=self.key,
            # A bucket key would replace the encryption context that the key's policy asks for.
            bucket_key_enabled=False,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            versioned=True,
            object_lock_enabled=options.locked_days > 0,
            object_lock_default_retention=_retention(options.locked_days),
            server_access_logs_bucket=visits,
            server_access_logs_prefix="logs/",
            lifecycle_rules=_lifecycle(),
            removal_policy=keep,
        )
        self._announce(bucket)
        return bucket

    def _announce(self, bucket: s3.Bucket) -> None:
        """As a property: the library's way would be a function with inline code that edits the bucket afterwards."""
        inner: s3.CfnBucket = bucket.node.default_child  # pyright: ignore
        inner.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            queue_configurations=[_announcement(self.uploads.queue_arn, ending) for ending in ARCHIVE_ENDINGS]
        )
        inner.add_resource_dependency(self.uploads.node.find_child("Policy").node.default_child)  # pyright: ignore


def _retention(days: int) -> s3.ObjectLockRetention | None:
    """Governance, not compliance: an operator with the permission can still undo a mistake."""
    return s3.ObjectLockRetention.governance(Duration.days(days)) if days else None


def _queue(
    scope: Stack,
    name: str,
    queue_name: str,
    *,
    keeps: Duration,
    visible_after: Duration | None = None,
    dead_letters: sqs.DeadLetterQueue | None = None,
) -> sqs.Queue:
    queue = sqs.Queue(
        scope,
        name,
        queue_name=queue_name,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=keeps,
        visibility_timeout=visible_after,
        dead_letter_queue=dead_letters,
    )
    if dead_letters is None:
        acknowledge(queue, "AwsSolutions-SQS3", "It is the dead-letter queue.")
    return queue


def dead_letter_queue(scope: Stack, name: str, queue_name: str) -> sqs.Queue:
    return _queue(scope, name, queue_name, keeps=Duration.days(14))


def _announcement(queue: str, ending: str) -> s3.CfnBucket.QueueConfigurationProperty:
    rule = s3.CfnBucket.FilterRuleProperty(name="suffix", value=ending)
    return s3.CfnBucket.QueueConfigurationProperty(
        event="s3:ObjectCreated:*",
        queue=queue,
        filter=s3.CfnBucket.NotificationFilterProperty(s3_key=s3.CfnBucket.S3KeyFilterProperty(rules=[rule])),
    )


def _lifecycle() -> list[s3.LifecycleRule]:
    """Incidents are evidence and stay a year; bundles are large and go after ninety days."""
    return [
        s3.LifecycleRule(id="bundles", prefix="eks_", expiration=Duration.days(90)),
        s3.LifecycleRule(id="fleet", prefix="fleet/", expiration=Duration.days(400)),
        s3.LifecycleRule(id="incidents", prefix="incidents/", expiration=Duration.days(400)),
        s3.LifecycleRule(id="quarantine", prefix="quarantine/", expiration=Duration.days(30)),
        s3.LifecycleRule(
            id="leftovers",
            abort_incomplete_multipart_upload_after=Duration.days(2),
            noncurrent_version_expiration=Duration.days(14),
            expired_object_delete_marker=True,
        ),
    ]


def _owned_by_account() -> Sequence[iam.PolicyStatement]:
    """In a key's policy, `*` is the key itself. IAM policies of the account decide further."""
    return [
        iam.PolicyStatement(
            sid="TheAccountAdministers",
            principals=[iam.AccountRootPrincipal()],
            actions=[*_ADMINISTER, *_USE],
            resources=["*"],
        )
    ]


def _only_known_tools(options: Options) -> Sequence[iam.PolicyStatement]:
    """Our own roles write only what names its job and a tool that we know. Nodes upload under S3's default context.

    So does the node monitoring agent, by a link that the collecting role signed.
    """
    ours = {
        "ArnLike": {"aws:PrincipalArn": names.placed(f"arn:{{partition}}:iam::{{account}}:role/{options.prefix}-*")},
        "ArnNotEquals": {"aws:PrincipalArn": names.placed(role_arn(options))},
    }
    refused = {
        "AnUnknownToolMayNotWrite": {"StringNotEquals": {"kms:EncryptionContext:tool": list(TOOLS)}},
        "AWriteNamesItsJob": {"Null": {"kms:EncryptionContext:job_id": "true"}},
    }
    return [
        iam.PolicyStatement(
            sid=sid,
            effect=iam.Effect.DENY,
            principals=[iam.AnyPrincipal()],
            actions=["kms:Encrypt", "kms:GenerateDataKey"],
            resources=["*"],
            conditions={**ours, **condition},
        )
        for sid, condition in refused.items()
    ]
