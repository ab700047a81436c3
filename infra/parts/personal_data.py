"""Whether answers hide personal data, and whether Amazon Comprehend helps to find it."""

from aws_cdk import CfnCondition, CfnParameter, CfnResource, Fn, Stack
from aws_cdk import aws_iam as iam

from infra.parts.function import PackagedFunction
from infra.rights.wildcards import explain


class PersonalData:
    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        choice = CfnParameter(
            stack,
            "PersonalData",
            default="shown",
            allowed_values=["shown", "hidden", "comprehend"],
            description="in answers: shown; hidden by our own detectors; or hidden with Amazon Comprehend's help, too",
        ).value_as_string
        is_shown, is_asked = Fn.condition_equals(choice, "shown"), Fn.condition_equals(choice, "comprehend")
        self._hides = CfnCondition(stack, "HidesPersonalData", expression=Fn.condition_not(is_shown))
        self._asks = CfnCondition(stack, "AsksComprehend", expression=is_asked)

    def hide_in(self, function: PackagedFunction, *, with_comprehend: bool) -> None:
        self._tell(function, "ENABLE_PII_REDACTION", self._hides)
        if with_comprehend:
            self._tell(function, "ENABLE_COMPREHEND", self._asks)
            self._allow(function)

    def _tell(self, function: PackagedFunction, variable: str, condition: CfnCondition) -> None:
        chosen = Fn.condition_if(condition.logical_id, "true", "false")
        function.function.add_environment(variable, chosen.to_string())

    def _allow(self, function: PackagedFunction) -> None:
        """Only while it is asked: text of logs leaves for another service by this."""
        policy = iam.Policy(function, "AskComprehend", roles=[function.role])
        policy.add_statements(
            iam.PolicyStatement(sid="FindPersonalData", actions=["comprehend:DetectPiiEntities"], resources=["*"])
        )
        explain(policy, "*", "text")
        inner = policy.node.default_child
        assert isinstance(inner, CfnResource)
        inner.cfn_options.condition = self._asks
