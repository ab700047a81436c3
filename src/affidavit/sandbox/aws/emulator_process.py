"""The emulator's own process. It ends with whoever started it: the other end of its standard input closes then.

The gate is in the same process, in front of the emulator: there is no second port to go around it.
"""

import os
import signal
import sys
import threading
import time
from typing import Any

CLEAN_STOP_SECONDS = 3


def main() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from ministack import app  # pyright: ignore[reportMissingTypeStubs] - it ships none
    from ministack.core import (  # pyright: ignore[reportMissingTypeStubs] - it ships none
        iam_actions,
        iam_evaluator,
    )
    from ministack.services import (  # pyright: ignore[reportMissingTypeStubs] - it ships none
        autoscaling,
        cloudtrail,
        ec2,
        iam,
        sqs,
        ssm,
    )

    from affidavit.sandbox.access.signed_requests_gate import AccessGate
    from affidavit.sandbox.aws.emulated.default_policy_version import add_default_versions
    from affidavit.sandbox.aws.emulated.dry_runs import heed_dry_runs
    from affidavit.sandbox.aws.emulated.iam_permission_check import stop_when_only_asked
    from affidavit.sandbox.aws.emulated.message_moves import add_message_moves
    from affidavit.sandbox.aws.emulated.node_commands import add_node_commands
    from affidavit.sandbox.aws.emulated.required_permissions import ask_as_aws
    from affidavit.sandbox.aws.emulated.scaling_groups import add_scaling_groups
    from affidavit.sandbox.aws.emulated.trail_callers import name_callers
    from affidavit.sandbox.aws.emulator_key_secrets import give_functions_random_keys, secret_of
    from affidavit.sandbox.aws.trail_resource_names import name_resources

    give_functions_random_keys()
    emulator: Any = app
    name_resources(emulator)
    name_callers(cloudtrail, iam_evaluator.resolve_caller_identity)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - it has no types
    add_default_versions(iam)
    heed_dry_runs(ec2)
    add_message_moves(sqs)
    add_node_commands(ssm, ec2)
    ask_as_aws(iam_actions, add_scaling_groups(autoscaling, ec2))
    stop_when_only_asked(emulator)
    emulator.app = AccessGate(emulator.app, secret_of)
    emulator.main()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(CLEAN_STOP_SECONDS)
    # The group is ours alone: workers of emulated functions go too.
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
