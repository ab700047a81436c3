"""Puts every resource of a construct under one condition of the template."""

import jsii
from aws_cdk import CfnCondition, CfnResource, IAspect
from constructs import IConstruct


@jsii.implements(IAspect)
class OnlyIf:
    def __init__(self, condition: CfnCondition) -> None:
        self._condition = condition

    def visit(self, node: IConstruct) -> None:
        if isinstance(node, CfnResource):
            node.cfn_options.condition = self._condition
