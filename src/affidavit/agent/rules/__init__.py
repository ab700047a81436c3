"""What can be proven without a chat model: rules over recorded answers, each with pointers that verify."""

from affidavit.agent.rules.alert import RaisedBy, raised_by, raised_by_fields
from affidavit.agent.rules.best_diagnosis import best_so_far

__all__ = ["RaisedBy", "best_so_far", "raised_by", "raised_by_fields"]
