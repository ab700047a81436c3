"""Every stack, joined. `python -m infra` writes their templates and fails on anything cdk-nag finds unexplained."""

from pathlib import Path

from aws_cdk import App, BootstraplessSynthesizer, Validations
from cdk_nag import AwsSolutionsChecks

from infra.options import Options
from infra.parts.network import Network
from infra.stacks.agentcore import AgentCore
from infra.stacks.console import Console
from infra.stacks.demo import Demo
from infra.stacks.node_logs import NodeLogs
from infra.stacks.observability import Observability
from infra.stacks.remediation import Remediation
from infra.stacks.state import State
from infra.stacks.storage import Storage
from infra.stacks.supervisor import Supervisor


def build(options: Options, out: Path) -> App:
    app = App(
        outdir=str(out),
        default_stack_synthesizer=BootstraplessSynthesizer(),
        tree_metadata=False,
        analytics_reporting=False,
        # Otherwise the library would have to open the access log's bucket to ACLs.
        context={"@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": True},
    )
    network = Network(app, "AffidavitNetwork", options=options) if options.has_vpc else None
    storage = Storage(app, "AffidavitStorage", options=options)
    state = State(app, "AffidavitState", options=options)
    node_logs = NodeLogs(app, "AffidavitNodeLogs", options=options, storage=storage, network=network)
    supervisor = Supervisor(app, "AffidavitSupervisor", options=options, storage=storage, node_logs=node_logs)
    Observability(
        app, "AffidavitObservability", options=options, storage=storage, node_logs=node_logs, supervisor=supervisor
    )
    Demo(app, "AffidavitDemo", options=options, storage=storage, supervisor=supervisor)
    AgentCore(app, "AffidavitAgentCore", options=options, storage=storage)
    Remediation(app, "AffidavitRemediation", options=options)
    console = Console(app, "AffidavitConsole", options=options, storage=storage)
    for stack in (node_logs, supervisor, console):
        stack.add_stack_dependency(state)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True))
    return app
