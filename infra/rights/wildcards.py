"""Every permission that ends in a star, with its reason. One without a reason fails `make synth`."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct

from infra.names import shown

REASONS = {
    "objects": "The names of objects come from nodes and bundles; the bucket and the prefix are fixed.",
    "secrets": "Which secrets there are is the operator's choice; the folder is fixed, and is this function's own.",
    "streams": "Lambda names the log streams; the log group is fixed.",
    "index": "DynamoDB names an index below its table; the table is fixed.",
    "describe": "EC2 knows no single resource for these Describe calls; they read and return no contents.",
    "account": "The call has no resource to name: it reads limits, metrics, changes or event sources of the account.",
    "any-workload": "A diagnosis reads whichever function an alert names; all these actions only read.",
    "execution": "SSM makes the execution's id, so it cannot be known before; the document that may run is fixed.",
    "nodes": "Which nodes a cluster has changes; the instance must carry a tag that names an allowed cluster.",
    "text": "Comprehend reads the text of the request itself; there is no resource to name.",
    "metric": "PutMetricData knows no resource; a condition fixes the namespace.",
    "interfaces": "Lambda makes the network interfaces itself, and EC2 names them afterwards.",
    "repair": "EC2, KMS, SQS and Lambda name these things; the tag that marks what may be repaired is required.",
    "versions": "Lambda numbers the versions of a function; the functions are named by who deploys this.",
    "denied": "The statement denies: the more it reaches, the less is allowed.",
    "chaos": "EC2 names these things; the tag that only the demo carries is required.",
}


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))


def explain(construct: IConstruct, resource: str, why: str) -> None:
    acknowledge(construct, f"AwsSolutions-IAM5[Resource::{shown(resource)}]", REASONS[why])
