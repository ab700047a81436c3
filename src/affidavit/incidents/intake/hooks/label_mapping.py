"""Which labels of an alert name its subject, as an operator says so."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from affidavit.errors import InputRefused

TARGETS = ("function_name", "instance_id", "node", "cluster", "region", "account")
_PAIR = re.compile(r"(\w+)=labels\.([A-Za-z_][\w.-]*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelNames:
    """Our name of a label → the sender's."""

    names: Mapping[str, str] = field(default_factory=dict[str, str])

    def applied(self, labels: Mapping[str, str]) -> dict[str, str]:
        """The labels with ours beside them. What the operator names wins over a label of our name."""
        return {**labels, **{ours: labels[theirs] for ours, theirs in self.names.items() if labels.get(theirs)}}


NO_NAMES = LabelNames()


def label_names(setting: str) -> LabelNames:
    """From `node=labels.kubernetes_node,function_name=labels.lambda`. Raises InputRefused naming the wrong part."""
    names: dict[str, str] = {}
    for pair in filter(None, setting.split(",")):
        found = _PAIR.fullmatch(pair)
        if found is None or found[1] not in TARGETS:
            raise InputRefused(
                f"HOOK_LABELS: {pair} is not NAME=labels.LABEL", hint=f"NAME is one of {', '.join(TARGETS)}"
            )
        names[found[1]] = found[2]
    return LabelNames(names=names)
