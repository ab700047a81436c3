"""How long a run waits, and how often it tries. The defaults are the contract; tests scale them down."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Seconds, counted back from the deadline where the name says `before`."""

    submit_before: float = 90.0
    """Less than this left, and the chat model is asked for its answer instead of another step."""

    gather_before: float = 35.0
    """No reply is waited for past this point: the rest is for evidence without a chat model."""

    end_before: float = 20.0
    """Everything of ours ends here. What is left is for verifying and storing."""

    reply: float = 60.0
    """Longest wait for one reply of the chat model."""

    tool: float = 30.0
    """Longest wait for one tool answer."""

    attempts: int = 2
    steps: int = 12
    """LangGraph's recursion limit; without one it would go on for 10,000 steps."""

    rejections: int = 2
    """How often a submission that does not hold is sent back. One more ends the run."""

    reminders: int = 2
    """How often a chat model that calls nothing is reminded to. Silent once more, it is not asked again."""

    backoff_base: float = 2.0
    """The pause after attempt n is this to the power of n."""
