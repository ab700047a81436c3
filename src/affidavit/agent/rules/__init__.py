"""What can be proven without a chat model: rules over recorded answers, each with pointers that verify."""

from affidavit.agent.rules.best import best_so_far

__all__ = ["best_so_far"]
