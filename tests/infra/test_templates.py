"""What every template promises: least privilege, encryption, and a place for whatever failed."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from infra.options import TOOLS
from infra.rights.wildcards import REASONS

from affidavit.entrypoints.mcp.tools.catalog import NODES
from affidavit.entrypoints.mcp.tools.gateway_schemas import gateway_tools
from affidavit.settings import Settings
from tests.infra.conftest import ROOT, SIGNING, read_templates
from tests.infra.templates import Statement, Template, flat

# Statements that name no single thing, and why none can be named. Everything else names one.
UNNAMED = {
    "FindNodes": "describe",
    "ReadNetworks": "describe",
    "LookAround": "describe",
    "ReadLimitsAndMetrics": "account",
    "ReadChanges": "account",
    "ReadTheirNetworks": "describe",
    "ReadTheirRunsAndSources": "account",
    "SeeManagedNodes": "account",
    "FollowCommands": "execution",
    "WriteMetrics": "metric",
    "UseNetworkInterfaces": "interfaces",
    "FindPersonalData": "text",
}
READING = re.compile(r"(Get|Detect|List|Lookup|Describe|Filter|Simulate|Query|Head|ConditionCheck)")
OUR_OWN = re.compile(
    r"table/(affidavit-state|incident-state|incident-context)|affidavit-logs-|log-group:/aws/lambda/affidavit-|:affidavit-"
)


@pytest.fixture
def statements(templates: dict[str, Template]) -> list[Statement]:
    return [each for template in templates.values() for each in template.role_statements()]


def test_no_permission_names_all_actions(templates: dict[str, Template], statements: list[Statement]) -> None:
    policies = [*statements, *(each for one in templates.values() for each in one.resource_statements())]
    stars = [(each.owner, action) for each in policies if each.is_allowing for action in each.actions if "*" in action]
    assert len(statements) > 40
    assert stars == []


def test_only_listed_statements_name_no_resource(statements: list[Statement]) -> None:
    found = {str(each.content["Sid"]) for each in statements if "*" in each.resources}
    listed = set(UNNAMED) - {"UseNetworkInterfaces"}
    assert found <= set(UNNAMED)
    assert listed <= found, "an entry of the list is no longer needed"
    assert set(UNNAMED.values()) <= set(REASONS)


@pytest.mark.parametrize(
    "role",
    ["affidavit-mcp", "affidavit-supervisor", "affidavit-watchdog", "affidavit-gateway-tools", "affidavit-hooks"],
)
def test_a_role_that_diagnoses_writes_only_what_is_ours(role: str, statements: list[Statement]) -> None:
    own = [each for each in statements if each.owner == role]
    assert own
    for statement in own:
        for action in statement.actions:
            service, _, verb = action.partition(":")
            if READING.match(verb) or service in ("bedrock", "kms"):
                continue
            if action == "sts:AssumeRole":
                assert [one.rpartition(":")[2] for one in statement.resources] == ["role/affidavit-node-collector"]
                continue
            elsewhere = [resource for resource in statement.resources if not OUR_OWN.search(resource)]
            assert all("Dead" in resource for resource in elsewhere), f"{role} may {action} on {elsewhere}"


def test_only_the_roles_of_runbook_and_repairs_send_commands_and_only_what_collects_starts_the_runbook(
    statements: list[Statement],
) -> None:
    def owners(action: str) -> set[str]:
        return {each.owner for each in statements if action in each.actions}

    assert owners("ssm:SendCommand") == {"affidavit-collection", "affidavit-executor"}
    collecting = {"affidavit-mcp-collect", "affidavit-node-collector"}
    assert owners("ssm:StartAutomationExecution") == collecting
    assert owners("iam:PassRole") == collecting
    for passing in [each for each in statements if "iam:PassRole" in each.actions]:
        assert [resource.rpartition(":")[2] for resource in passing.resources] == ["role/affidavit-collection"]
        assert passing.content["Condition"] == {"StringEquals": {"iam:PassedToService": "ssm.amazonaws.com"}}


def test_what_collects_for_incidents_is_a_role_of_its_own_that_reads_none_of_them(
    templates: dict[str, Template], statements: list[Statement]
) -> None:
    supervisor = templates["AffidavitSupervisor"]
    roles = supervisor.of_type("AWS::IAM::Role")
    named = {each["Properties"]["RoleName"]: (name, each) for name, each in roles.items()}
    collecting = named["affidavit-node-collector"][1]
    takers = [one["Principal"]["AWS"] for one in collecting["Properties"]["AssumeRolePolicyDocument"]["Statement"]]
    wanted = [{"Fn::GetAtt": [named[f"affidavit-{one}"][0], "Arn"]} for one in ("supervisor", "watchdog")]
    assert takers == wanted
    assert collecting["Condition"] == "Collects"
    assert supervisor.content["Parameters"]["EnableCollection"]["Default"] == "false"
    own = [each for each in statements if each.owner == "affidavit-node-collector"]
    reached = " ".join(resource for each in own for resource in each.resources)
    for secret in ("incident-state", "incident-context", "mcp-api-key", "bedrock", "incidents/"):
        assert secret not in reached
    written = {one for each in own if "s3:PutObject" in each.actions for one in each.resources}
    assert {one.partition("/")[2] for one in written} == {
        f"eks_*/*_{what}_*.tar.gz" for what in ("nodediagnostic", "console_output", "host_logs")
    }


def test_only_groups_and_consoles_of_allowed_clusters_are_reached(statements: list[Statement]) -> None:
    held = [each for each in statements if "autoscaling:CompleteLifecycleAction" in each.actions]
    consoles = [each for each in statements if "ec2:GetConsoleOutput" in each.actions]
    assert {each.owner for each in (*held, *consoles)} == {"affidavit-node-collector"}
    for found in (held, consoles):
        assert len(found) == 4
        for each in found:
            ((key, clusters),) = each.content["Condition"]["StringEquals"].items()
            assert key.startswith("aws:ResourceTag/")
            assert clusters == {"Ref": "AllowedClusters"}


def test_events_about_nodes_reach_the_supervisor_only_as_far_as_they_are_wanted(templates: dict[str, Template]) -> None:
    supervisor = templates["AffidavitSupervisor"]
    rules = {
        each["Properties"]["Name"]: each["Properties"] for each in supervisor.of_type("AWS::Events::Rule").values()
    }
    wanted = {
        "affidavit-nodesending": "WatchesEndings",
        "affidavit-nodeswarned": "WatchesEndings",
        "affidavit-nodesheld": "WatchesEndings",
        "affidavit-nodeshealth": "WatchesNodes",
        "affidavit-nodesalarms": "WatchesAlarms",
    }
    for name, condition in wanted.items():
        assert rules[name]["State"] == {"Fn::If": [condition, "ENABLED", "DISABLED"]}
    # Another program's hook must not be completed by us: its event does not even come.
    assert rules["affidavit-nodesheld"]["EventPattern"]["detail"] == {"LifecycleHookName": [{"prefix": "affidavit"}]}
    endings = json.dumps(supervisor.content["Conditions"]["WatchesEndings"])
    assert all(name in endings for name in ("AllowedClusters", "EnableCollection", "WatchEndings"))


def test_only_ssm_of_this_account_can_take_the_runbooks_role(templates: dict[str, Template]) -> None:
    roles = templates["AffidavitNodeLogs"].of_type("AWS::IAM::Role").values()
    (role,) = [each for each in roles if each["Properties"]["RoleName"] == "affidavit-collection"]
    (trust,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "ssm.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    assert role["Condition"] == "Collects"
    told = function_named("affidavit-mcp-collect", templates)["Environment"]["Variables"]["COLLECTION_ROLE_ARN"]
    assert flat(told).endswith(":role/affidavit-collection")


def test_servers_open_to_the_internet_have_a_limit_of_their_own(templates: dict[str, Template]) -> None:
    limit = {"Fn::If": ["LimitsServers", {"Ref": "ServerConcurrency"}, {"Ref": "AWS::NoValue"}]}
    for name in ("affidavit-mcp", "affidavit-mcp-collect"):
        assert function_named(name, templates)["ReservedConcurrentExecutions"] == limit
    assert templates["AffidavitNodeLogs"].content["Parameters"]["ServerConcurrency"]["Default"] == 20


def test_logs_are_read_only_from_groups_that_the_operator_may_narrow(
    statements: list[Statement], templates: dict[str, Template]
) -> None:
    reading = {each.owner: each.resources for each in statements if "logs:FilterLogEvents" in each.actions}
    groups = {owner: [one.rpartition(":")[2] for one in resources] for owner, resources in reading.items()}
    assert groups == {"affidavit-mcp": ["<WorkloadLogGroups>"], "affidavit-node-collector": ["<HostLogGroups>"]}
    (functions,) = [
        each
        for each in statements
        if "lambda:GetFunctionConfiguration" in each.actions and each.owner == "affidavit-mcp"
    ]
    assert [resource.rpartition(":")[2] for resource in functions.resources] == ["<WorkloadFunctions>"]
    assert templates["AffidavitNodeLogs"].content["Parameters"]["WorkloadLogGroups"]["Default"] == "/aws/lambda/*"


def test_chaos_stays_inside_its_boundary_and_its_own_rows(
    templates: dict[str, Template], statements: list[Statement]
) -> None:
    demo = templates["AffidavitDemo"]
    (boundary,) = demo.of_type("AWS::IAM::ManagedPolicy")
    roles = [each["Properties"] for each in demo.of_type("AWS::IAM::Role").values()]
    assert [each["PermissionsBoundary"] for each in roles if each["RoleName"] == "affidavit-chaos"] == [
        {"Ref": boundary}
    ]
    own = [each.content for each in statements if each.owner == "affidavit-chaos"]
    bounded = demo.content["Resources"][boundary]["Properties"]["PolicyDocument"]["Statement"]
    assert {each["Sid"] for each in own} == {each["Sid"] for each in bounded}
    (rows,) = [each for each in own if "dynamodb:PutItem" in each["Action"]]
    assert rows["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["CHAOS#*"]}}


@pytest.mark.slow
def test_an_operator_may_choose_a_throttle_locked_evidence_and_signed_code(closed_assembly: Path) -> None:
    chosen = read_templates(closed_assembly)
    node_logs = chosen["AffidavitNodeLogs"]
    assert node_logs.of_type("AWS::Lambda::Url") == {}
    stages = [each["Properties"] for each in node_logs.of_type("AWS::ApiGatewayV2::Stage").values()]
    assert [each["DefaultRouteSettings"]["ThrottlingRateLimit"] for each in stages] == [20, 20]
    assert all(each["AccessLogSettings"]["DestinationArn"] for each in stages)
    buckets = [each["Properties"] for each in chosen["AffidavitStorage"].of_type("AWS::S3::Bucket").values()]
    locks = [each["ObjectLockConfiguration"]["Rule"] for each in buckets if each.get("ObjectLockEnabled")]
    assert locks == [{"DefaultRetention": {"Days": 30, "Mode": "GOVERNANCE"}}]
    functions = [each for one in chosen.values() for each in one.of_type("AWS::Lambda::Function").values()]
    assert {each["Properties"]["CodeSigningConfigArn"] for each in functions} == {SIGNING}


def test_the_indexer_is_told_how_large_an_upload_may_be(templates: dict[str, Template]) -> None:
    node_logs = templates["AffidavitNodeLogs"]
    functions = [each["Properties"] for each in node_logs.of_type("AWS::Lambda::Function").values()]
    told = {each["FunctionName"]: each["Environment"]["Variables"].get("MAX_UPLOAD_MIB") for each in functions}
    assert told["affidavit-indexer"] == {"Ref": "MaxUploadMiB"}
    assert node_logs.content["Parameters"]["MaxUploadMiB"]["Default"] == 2048


def test_commands_reach_only_nodes_whose_tags_name_an_allowed_cluster(
    statements: list[Statement], closed_assembly: Path
) -> None:
    def reaching(found: Iterable[Statement]) -> list[dict[str, Any]]:
        return [
            each.content["Condition"]
            for each in found
            if "ssm:SendCommand" in each.actions and any(":instance/" in one for one in each.resources)
        ]

    keys = ("eks:cluster-name", "eks:eks-cluster-name", "alpha.eksctl.io/cluster-name", "aws:eks:cluster-name")
    named = [{"StringEquals": {f"aws:ResourceTag/{key}": {"Ref": "AllowedClusters"}}} for key in keys]
    repairing = [{"StringEquals": {"aws:ResourceTag/affidavit:repair": "allowed"}}]
    assert reaching(each for each in statements if each.owner == "affidavit-executor") == repairing
    assert reaching(each for each in statements if each.owner != "affidavit-executor") == named
    # Self-managed nodes may have nothing but a tag whose key holds the cluster's name.
    marked = {"Null": {"aws:ResourceTag/kubernetes.io/cluster/prod": "false"}}
    assert reaching(read_templates(closed_assembly)["AffidavitNodeLogs"].role_statements()) == [*named, marked]


def test_the_collecting_server_is_there_only_when_it_is_wanted(templates: dict[str, Template]) -> None:
    resources = templates["AffidavitNodeLogs"].content["Resources"]
    own = {name: each for name, each in resources.items() if name.startswith("mcpcollect")}
    assert {each.get("Condition") for each in own.values()} == {"Collects"}
    assert templates["AffidavitNodeLogs"].content["Parameters"]["EnableCollection"]["Default"] == "false"


def test_a_function_reads_the_secrets_of_its_own_folder_and_hooks_are_there_only_when_wanted(
    templates: dict[str, Template], statements: list[Statement]
) -> None:
    folders = {
        "affidavit-console": "console",
        "affidavit-hooks": "hooks",
        "affidavit-supervisor": "supervisor",
        "affidavit-watchdog": "supervisor",
    }
    for each in statements:
        if "ssm:GetParametersByPath" in each.actions:
            place = folders.pop(each.owner)
            assert {arn.partition(":parameter")[2] for arn in each.resources} == {
                f"/incident-response/{place}",
                f"/incident-response/{place}/*",
            }
            told = function_named(each.owner, templates)["Environment"]["Variables"]["SECRETS_PATH"]
            assert told == f"/incident-response/{place}"
    assert folders == {}
    supervisor = templates["AffidavitSupervisor"]
    hooked = [each for name, each in supervisor.content["Resources"].items() if name.startswith("hooks")]
    assert len(hooked) > 4
    assert {each.get("Condition") for each in hooked} == {"TakesHooks"}
    assert supervisor.content["Parameters"]["EnableHooks"]["Default"] == "false"


def test_no_secret_setting_is_a_variable_or_a_parameter_of_a_template(templates: dict[str, Template]) -> None:
    secret = {entry.alias for entry in Settings.model_fields.values() if not entry.repr}
    assert "SLACK_BOT_TOKEN" in secret
    for template in templates.values():
        for each in template.of_type("AWS::Lambda::Function").values():
            assert not secret & set(each["Properties"].get("Environment", {}).get("Variables", {}))


def test_everything_that_keeps_data_encrypts_it(templates: dict[str, Template]) -> None:
    for template in templates.values():
        for bucket in template.of_type("AWS::S3::Bucket").values():
            assert bucket["Properties"]["BucketEncryption"]
            assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
        for queue in template.of_type("AWS::SQS::Queue").values():
            assert queue["Properties"]["SqsManagedSseEnabled"] is True
        for topic in template.of_type("AWS::SNS::Topic").values():
            assert topic["Properties"]["KmsMasterKeyId"]
        for table in template.of_type("AWS::DynamoDB::Table").values():
            assert table["Properties"]["SSESpecification"] == {"SSEEnabled": True}


def test_buckets_queues_and_topics_refuse_plain_http(templates: dict[str, Template]) -> None:
    kinds = {"AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy"}
    for template in templates.values():
        policies = {name for kind in kinds for name in template.of_type(kind)}
        refusing = {
            each.owner
            for each in template.resource_statements()
            if not each.is_allowing
            and each.content.get("Condition", {}).get("Bool") == {"aws:SecureTransport": "false"}
        }
        assert policies == refusing
        owners = sum(len(template.of_type(kind)) for kind in ("AWS::S3::Bucket", "AWS::SQS::Queue", "AWS::SNS::Topic"))
        assert len(policies) == owners


def test_the_key_refuses_our_roles_a_tool_that_nobody_knows(templates: dict[str, Template]) -> None:
    refusals = [each.content for each in templates["AffidavitStorage"].resource_statements() if not each.is_allowing]
    conditions = [each["Condition"] for each in refusals if "kms:GenerateDataKey" in each["Action"]]
    assert {"kms:EncryptionContext:tool": list(TOOLS)} in [each.get("StringNotEquals") for each in conditions]
    assert {"kms:EncryptionContext:job_id": "true"} in [each.get("Null") for each in conditions]
    # The node monitoring agent sends no header of ours: a link of the collecting role's is used under S3's own context.
    spared = {flat(each["ArnNotEquals"]["aws:PrincipalArn"]).rpartition(":")[2] for each in conditions}
    assert spared == {"role/affidavit-node-collector"}


def test_functions_are_told_only_what_the_settings_know(templates: dict[str, Template]) -> None:
    known = {each.alias for each in Settings.model_fields.values()} | {"XDG_CACHE_HOME"}
    for template in templates.values():
        for each in template.of_type("AWS::Lambda::Function").values():
            if each["Properties"]["FunctionName"] != "affidavit-data-processor":
                assert set(each["Properties"]["Environment"]["Variables"]) <= known


def test_both_servers_take_tokens_of_the_issuer_that_the_operator_names(templates: dict[str, Template]) -> None:
    content = templates["AffidavitNodeLogs"].content
    named = {"MCP_OAUTH_ISSUER": "OAuthIssuer", "MCP_OAUTH_AUDIENCE": "OAuthAudience", "MCP_OAUTH_JWKS": "OAuthJwks"}
    for name in ("affidavit-mcp", "affidavit-mcp-collect"):
        told = function_named(name, templates)["Environment"]["Variables"]
        assert {variable: told[variable]["Ref"] for variable in named} == named
    assert {content["Parameters"][name]["Default"] for name in named.values()} == {""}
    (assertion,) = content["Rules"]["IssuerNeedsAudience"]["Assertions"]
    assert assertion["Assert"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "OAuthAudience"}, ""]}]}


def test_comprehend_may_be_asked_only_while_it_is_wanted(templates: dict[str, Template]) -> None:
    for stack, name in (("AffidavitNodeLogs", "affidavit-mcp"), ("AffidavitAgentCore", "affidavit-gateway-tools")):
        template = templates[stack]
        told = function_named(name, templates)["Environment"]["Variables"]
        assert told["ENABLE_PII_REDACTION"] == {"Fn::If": ["HidesPersonalData", "true", "false"]}
        assert told["ENABLE_COMPREHEND"] == {"Fn::If": ["AsksComprehend", "true", "false"]}
        asking = [
            each
            for each in template.of_type("AWS::IAM::Policy").values()
            if "comprehend:" in json.dumps(each["Properties"]["PolicyDocument"])
        ]
        assert [each["Condition"] for each in asking] == ["AsksComprehend"]
        assert template.content["Parameters"]["PersonalData"]["Default"] == "shown"
    statements = [each for one in templates.values() for each in one.role_statements()]
    asking = {each.owner for each in statements for action in each.actions if action.startswith("comprehend:")}
    assert asking == {"affidavit-mcp", "affidavit-gateway-tools"}


@pytest.mark.parametrize("name", ["affidavit-supervisor", "affidavit-watchdog"])
def test_who_ends_an_incident_may_tell_people_and_no_other_topic(name: str, templates: dict[str, Template]) -> None:
    supervisor = templates["AffidavitSupervisor"]
    topic = function_named(name, templates)["Environment"]["Variables"]["ALERT_TOPIC_ARN"]["Ref"]
    assert supervisor.content["Resources"][topic]["Properties"]["TopicName"] == "affidavit-people"
    own = [each for each in supervisor.role_statements() if each.owner == name]
    told = [resource for each in own if "sns:Publish" in each.actions for resource in each.resources]
    assert [resource.rpartition(":")[2] for resource in told] == ["affidavit-people"]
    encrypting = [each.content["Sid"] for each in own if "kms:GenerateDataKey" in each.actions]
    assert "EncryptMessages" in encrypting


def function_named(name: str, templates: dict[str, Template]) -> dict[str, Any]:
    found = [each for one in templates.values() for each in one.of_type("AWS::Lambda::Function").values()]
    return next(each["Properties"] for each in found if each["Properties"]["FunctionName"] == name)


def test_nodes_that_the_operator_names_bring_archives_and_read_nothing(templates: dict[str, Template]) -> None:
    storage = templates["AffidavitStorage"]
    found = {each.content["Sid"]: each for each in storage.resource_statements() if "Sid" in each.content}
    nodes = {sid: each for sid, each in found.items() if sid.startswith("Nodes")}
    assert {str(each.content["Principal"]) for each in nodes.values()} == {"{'AWS': {'Ref': 'NodeRoleArns'}}"}
    allowed = {action for each in nodes.values() if each.is_allowing for action in each.actions}
    assert not {action for action in allowed if action.startswith(("s3:GetObject", "s3:List", "s3:Delete"))}
    archives = [resource.partition("/")[2] for resource in nodes["NodesBringArchives"].resources]
    assert archives == ["eks_*.tar.gz", "eks_*.tgz", "eks_*.zip"]
    key = nodes["NodesEncryptArchives"].content
    assert flat(key["Condition"]["StringEquals"]["kms:ViaService"]) == "s3.<AWS::Region>.<AWS::URLSuffix>"
    context = flat(key["Condition"]["StringLike"]["kms:EncryptionContext:aws:s3:arn"])
    assert context.endswith(":s3:::affidavit-logs-<AWS::AccountId>-<AWS::Region>/eks_*")


def test_without_named_nodes_no_statement_about_them_stands(templates: dict[str, Template]) -> None:
    content = templates["AffidavitStorage"].content
    assert content["Parameters"]["NodeRoleArns"]["Default"] == ""
    assert content["Conditions"]["NodesUpload"] == {
        "Fn::Not": [{"Fn::Equals": [{"Fn::Join": ["", {"Ref": "NodeRoleArns"}]}, ""]}]
    }
    documents = [
        document["Statement"]
        for each in content["Resources"].values()
        for name in ("PolicyDocument", "KeyPolicy")
        if (document := each["Properties"].get(name)) is not None
    ]
    conditional = [each["Fn::If"] for document in documents for each in document if "Fn::If" in each]
    assert {each[0] for each in conditional} == {"NodesUpload"}
    assert len(conditional) == 4
    assert all(each[2] == {"Ref": "AWS::NoValue"} for each in conditional)


def test_every_tool_that_writes_is_known_to_the_key() -> None:
    sources = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    written = {name for text in sources for name in re.findall(r'(?:PURPOSE(?:: Final)? = |purpose=)"([^"]+)"', text)}
    assert written
    assert written <= set(TOOLS)


def test_whatever_fails_has_a_place_to_be_kept(templates: dict[str, Template]) -> None:
    asynchronous = ("affidavit-supervisor", "affidavit-watchdog", "affidavit-data-processor")
    functions = {
        each["Properties"]["FunctionName"]: each["Properties"]
        for template in templates.values()
        for each in template.of_type("AWS::Lambda::Function").values()
    }
    for name in asynchronous:
        assert functions[name]["DeadLetterConfig"]["TargetArn"], name
    supervisor = templates["AffidavitSupervisor"]
    subscriptions = supervisor.of_type("AWS::SNS::Subscription").values()
    assert [bool(each["Properties"]["RedrivePolicy"]) for each in subscriptions] == [True]
    rules = supervisor.of_type("AWS::Events::Rule").values()
    assert [bool(each["Properties"]["Targets"][0]["DeadLetterConfig"]) for each in rules] == [True] * 6
    invoked = supervisor.of_type("AWS::Lambda::EventInvokeConfig").values()
    assert [bool(each["Properties"]["DestinationConfig"]["OnFailure"]) for each in invoked] == [True]
    queues = templates["AffidavitStorage"].of_type("AWS::SQS::Queue").values()
    assert {each["Properties"]["QueueName"]: "RedrivePolicy" in each["Properties"] for each in queues} == {
        "affidavit-uploads": True,
        "affidavit-uploads-dead": False,
    }


def test_a_bundle_cannot_come_back_while_it_is_still_being_read(templates: dict[str, Template]) -> None:
    queues = templates["AffidavitStorage"].of_type("AWS::SQS::Queue").values()
    waits = next(each["Properties"]["VisibilityTimeout"] for each in queues if "RedrivePolicy" in each["Properties"])
    functions = templates["AffidavitNodeLogs"].of_type("AWS::Lambda::Function").values()
    indexer = next(
        each["Properties"] for each in functions if each["Properties"]["FunctionName"] == "affidavit-indexer"
    )
    assert waits >= 6 * indexer["Timeout"], "AWS asks for six times the function's timeout"


def test_tables_have_the_keys_index_and_expiry_that_the_code_uses(templates: dict[str, Template]) -> None:
    tables = [each["Properties"] for each in templates["AffidavitState"].of_type("AWS::DynamoDB::Table").values()]
    assert {each["TableName"] for each in tables} == {"affidavit-state", "incident-state", "incident-context"}
    for table in tables:
        assert [key["AttributeName"] for key in table["KeySchema"]] == ["pk", "sk"]
        index = table["GlobalSecondaryIndexes"][0]
        assert (index["IndexName"], [key["AttributeName"] for key in index["KeySchema"]]) == ("due", ["due", "due_at"])
        assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
        assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
        assert table["DeletionProtectionEnabled"] is True


def test_no_function_has_its_code_in_the_template(templates: dict[str, Template]) -> None:
    codes = [
        each["Properties"]["Code"]
        for template in templates.values()
        for each in template.of_type("AWS::Lambda::Function").values()
    ]
    assert len(codes) == 9
    assert all(set(code) == {"S3Bucket", "S3Key"} for code in codes)


def test_an_alarm_tells_somebody(templates: dict[str, Template]) -> None:
    alarms = [each for one in templates.values() for each in one.of_type("AWS::CloudWatch::Alarm").values()]
    assert len(alarms) >= 18
    assert all(each["Properties"]["AlarmActions"] for each in alarms)


def test_alarms_watch_metrics_that_the_code_really_writes(templates: dict[str, Template]) -> None:
    alarms = templates["AffidavitObservability"].of_type("AWS::CloudWatch::Alarm").values()
    named = {
        each["Properties"]["MetricName"] for each in alarms if each["Properties"]["Namespace"] == "Affidavit/Incidents"
    }
    source = "\n".join(path.read_text() for path in (ROOT / "src/affidavit/incidents").rglob("*.py"))
    assert {"CircuitBreakerDeferred", "WatchdogClosed", "NoticesLost"} <= named
    assert all(re.search(rf"\b{name}=", source) for name in named)


def test_in_a_vpc_the_indexer_reaches_the_logs_bucket_and_no_other(closed_assembly: Path) -> None:
    templates = read_templates(closed_assembly)
    network = templates["AffidavitNetwork"]
    assert network.of_type("AWS::EC2::NatGateway") == network.of_type("AWS::EC2::InternetGateway") == {}
    policies = [each for each in network.resource_statements() if each.content.get("Sid") == "OnlyTheLogsBucket"]
    (policy,) = policies
    assert all("affidavit-logs-" in resource for resource in policy.resources)
    functions = templates["AffidavitNodeLogs"].of_type("AWS::Lambda::Function").values()
    inside = {each["Properties"]["FunctionName"] for each in functions if "VpcConfig" in each["Properties"]}
    assert inside == {"affidavit-indexer"}


def test_the_gateway_offers_every_question_about_nodes_but_the_one_for_whole_files(
    templates: dict[str, Template],
) -> None:
    """The emulator does not know the type, so nothing but this holds the gateway's tools and ours together."""
    (target,) = templates["AffidavitAgentCore"].of_type("AWS::BedrockAgentCore::GatewayTarget").values()
    offered = target["Properties"]["TargetConfiguration"]["Mcp"]["Lambda"]["ToolSchema"]["InlinePayload"]
    # Its callers may read answers, which are redacted, and no whole file, which is not.
    questions = [tool for tool in NODES if tool.name != "artifact"]
    assert [tool["Name"] for tool in offered] == [tool.name for tool in questions]
    for tool, ours in zip(offered, gateway_tools(NODES), strict=True):
        assert set(tool) == {"Name", "Description", "InputSchema"}
        assert tool["Description"] == ours["description"]
        assert _spelled_as_json_schema(tool["InputSchema"]) == ours["inputSchema"]
    for tool, ours in zip(offered, questions, strict=True):
        asked = ours.request.model_json_schema(by_alias=True)
        assert set(tool["InputSchema"]["Properties"]) == set(asked["properties"])
        assert set(tool["InputSchema"].get("Required", ())) == set(asked.get("required", ()))


def _spelled_as_json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """CloudFormation writes the words of a schema with capitals; names of arguments stay as they are."""
    spelled = {name.lower(): value for name, value in schema.items()}
    if "properties" in spelled:
        properties = spelled["properties"].items()
        spelled["properties"] = {name: _spelled_as_json_schema(value) for name, value in properties}
    if "items" in spelled:
        spelled["items"] = _spelled_as_json_schema(spelled["items"])
    return spelled


def test_committed_templates_are_what_the_sources_make(templates: dict[str, Template]) -> None:
    kept = read_templates(ROOT / "infra/templates")
    assert {name: each.content for name, each in kept.items()} == {
        name: each.content for name, each in templates.items()
    }, "make synth"


@pytest.mark.slow
def test_cfn_lint_finds_no_error(assembly: Path, closed_assembly: Path) -> None:
    files = [str(file) for folder in (assembly, closed_assembly) for file in folder.glob("*.template.json")]
    command = [
        str(Path(sys.executable).parent / "cfn-lint"),
        "--non-zero-exit-code",
        "error",
        "--format",
        "json",
        *files,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    errors = [each for each in json.loads(done.stdout or "[]") if each["Level"] == "Error"]
    assert (done.returncode, errors) == (0, [])


def test_every_finding_of_cdk_nag_that_is_set_aside_has_a_reason(assembly: Path) -> None:
    """Unexplained ones fail the synthesis; here the explained ones are read back."""
    reasons: list[str] = []
    for file in assembly.glob("*.metadata.json"):
        for entries in json.loads(file.read_text()).values():
            reasons += [each for entry in entries for each in _reasons(entry)]
    assert len(reasons) > 20
    assert all(len(reason) > 25 for reason in reasons)


@pytest.mark.slow
def test_a_star_that_nobody_explained_fails_the_synthesis(tmp_path: Path) -> None:
    program = (
        "import sys, infra.parts.function; infra.parts.function.explain = lambda *_: None\n"
        f"sys.argv = ['infra', '--out', {str(tmp_path / 'out')!r}]\n"
        "from infra.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 1
    assert "AwsSolutions-IAM5[Resource::*]" in done.stderr


def _reasons(entry: dict[str, Any]) -> list[str]:
    return list(entry["data"].values()) if entry["type"] == "aws:cdk:acknowledged-rules" else []


def test_repairs_have_one_role_that_only_named_callers_take_in_the_name_of_a_person(
    templates: dict[str, Template], statements: list[Statement]
) -> None:
    stack = templates["AffidavitRemediation"]
    (role,) = [each["Properties"] for each in stack.of_type("AWS::IAM::Role").values()]
    trust = role["AssumeRolePolicyDocument"]["Statement"]
    for each in trust:
        assert each["Condition"] == {
            "ArnEquals": {"aws:PrincipalArn": {"Ref": "ExecutorPrincipals"}},
            "Null": {"sts:SourceIdentity": "false"},
        }
    assert {each["Action"] for each in trust} == {"sts:AssumeRole", "sts:SetSourceIdentity"}
    assert "Default" not in stack.content["Parameters"]["ExecutorPrincipals"]
    own = [each for each in statements if each.owner == "affidavit-executor"]
    (boundary,) = stack.of_type("AWS::IAM::ManagedPolicy").values()
    assert [each.content for each in own] == boundary["Properties"]["PolicyDocument"]["Statement"]
    for each in own:
        if each.is_allowing and not {"<RepairableFunctions>", "<RepairableRoles>", "<RepairablePolicies>"} & {
            re.split(r"[:/]", resource)[-1] for resource in each.resources
        }:
            assert each.content["Condition"] == {"StringEquals": {"aws:ResourceTag/affidavit:repair": "allowed"}}


def test_the_role_for_repairs_may_make_the_calls_of_the_catalog_and_never_passes_a_role(
    statements: list[Statement],
) -> None:
    own = [each for each in statements if each.owner == "affidavit-executor" and each.is_allowing]
    allowed = {action for each in own for action in each.actions}
    assert not any(action.startswith(("iam:PassRole", "iam:Create", "iam:Update", "sts:")) for action in allowed)
    sources = (ROOT / "src" / "affidavit" / "remediation" / "actions").rglob("*.py")
    text = "".join(
        file.read_text() for file in [*sources, ROOT / "src" / "affidavit" / "changes" / "aws_call_builders.py"]
    )
    named = set(re.findall(r'"((?:lambda|iam|kms|ec2|sqs|ssm|autoscaling):[A-Z]\w+)"', text)) - {"iam:PolicyARN"}
    named |= {f"ec2:{action}" for action in re.findall(r'_call\("([A-Z]\w+)"', text)}
    assert len(named) > 12 and named <= allowed, "an action of the catalog that the role may not call"
