"""Where settings name the API of a cluster or a role that collects, what it takes must be there."""

import json

import pytest

from affidavit import bootstrap
from affidavit.errors import InputRefused, UpstreamFailed
from affidavit.ports.table import Key
from affidavit.sandbox.sandbox import Sandbox
from affidavit.settings import Settings


def test_without_the_client_of_kubernetes_its_setting_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bootstrap, "find_spec", lambda _: None)
    settings = Settings.from_environment({"LOGS_BUCKET": "b", "KUBERNETES_API": "eks"})
    with pytest.raises(InputRefused, match="KUBERNETES_API=eks") as refused:
        bootstrap.build_app(settings)
    assert "affidavit[kubernetes]" in refused.value.hint


def test_without_the_setting_nothing_of_kubernetes_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "find_spec", lambda _: None)
    app = bootstrap.build_app(Settings.from_environment({"LOGS_BUCKET": "b"}))
    assert app.control_plane is None
    assert app.captures is None


def test_what_collects_works_by_the_named_role_and_what_reads_keeps_its_own(
    sandbox: Sandbox, aws_environment: dict[str, str]
) -> None:
    trust = {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::000000000000:root"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = sandbox.client("iam").create_role(RoleName="a-collector", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    app = bootstrap.build_app(Settings.from_environment({**aws_environment, "NODE_COLLECTION_ROLE_ARN": role}))
    missing = Key(pk="nobody", sk="nothing")
    assert app.state.get(missing) is None
    with pytest.raises(UpstreamFailed, match="our role may not call GetItem"):
        app.collection_stores.state.get(missing)
    reads = {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [reads]})
    sandbox.client("iam").put_role_policy(RoleName="a-collector", PolicyName="reads", PolicyDocument=policy)
    assert app.collection_stores.state.get(missing) is None
