"""Stops archive bombs: bounds how much a member, its container and the bundle may unpack to."""

from affidavit.bundle.digests import BLOCK
from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.source import MemberDamaged, Source


class TooMuch(MemberDamaged):
    """A limit was reached: what was stored of the member is removed."""


class Budget:
    """Counts bytes of the whole bundle. The compressed size of nested archives is that of the outermost one."""

    def __init__(self, limits: UnpackLimits, outermost: Source) -> None:
        self.limits = limits
        self.stored = 0
        self._outermost = outermost
        self._read_in_place = 0

    def paid(self) -> int:
        return self._outermost.consumed() + self._read_in_place

    def pay(self, size: int) -> None:
        """For an archive that is read where it lies, past its source."""
        self._read_in_place += size


class MemberBound:
    """Limits one member. `given` is how many bytes its source gave before it."""

    def __init__(self, budget: Budget, source: Source, given: int) -> None:
        self._budget = budget
        self._source = source
        self._given = given
        self._consumed_before = source.consumed()

    def check(self, size: int) -> None:
        """Raises TooMuch. `size` is what the member has unpacked to so far."""
        limits, consumed = self._budget.limits, self._source.consumed()
        total = self._budget.stored + size
        if total > limits.total_bytes:
            raise TooMuch(f"the bundle unpacks to more than {limits.total_bytes} bytes")
        # The reader runs ahead of what it hands out, so the member is granted one block of input.
        self._judge(size, consumed - self._consumed_before + BLOCK)
        self._judge(self._given + size, consumed)
        self._judge(total, self._budget.paid())

    def _judge(self, unpacked: int, packed: int) -> None:
        limits = self._budget.limits
        if unpacked > limits.ratio_floor and unpacked > limits.ratio * max(packed, 1):
            raise TooMuch(f"it unpacks to more than {limits.ratio} times its compressed size")
