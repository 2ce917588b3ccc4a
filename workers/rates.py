"""Rate limits: a token bucket, and the share of a busy worker's time that following or background tasks may take.

The caller passes the time, in seconds of a clock of its own.
"""

from __future__ import annotations

from typing import Final, Self

#: Maximum balance in seconds: a turn delays no record longer than this, except until the end of a step.
MAX_SAVED_S: Final = 0.5
#: Seconds of one turn while no record waits; the worker checks for records between turns.
_IDLE_TURN_S: Final = 0.02


class TokenBucket:
    """Gains ``per_s`` tokens per second and holds at most ``max_tokens``; ``saved`` at ``now``. A deficit is carried over."""

    def __init__(self, per_s: float, max_tokens: float, *, saved: float, now: float) -> None:
        self.per_s, self._max, self._saved, self.since = per_s, max_tokens, saved, now

    @classmethod
    def full(cls, per_s: float, saved_s: float, now: float) -> Self:
        """Return a bucket that holds the tokens of ``saved_s`` seconds, at least one unless the rate is 0, and is full."""
        max_tokens = max(per_s * saved_s, 1.0) if per_s else 0.0
        return cls(per_s, max_tokens, saved=max_tokens, now=now)

    def saved(self, now: float) -> float:
        """Return the tokens available now, which may be below 0."""
        self._saved = min(self._max, self._saved + max(0.0, now - self.since) * self.per_s)
        self.since = now
        return self._saved

    def spend(self, tokens: float) -> None:
        """Use tokens."""
        self._saved -= tokens


class FollowShare:
    """A limit that gives following ``share`` of the time, counted from ``now`` on; time while no record waits is free.

    A turn takes at least one step, which may exceed the balance. The balance is then negative, and there is no turn until other
    work has restored it. ``share`` 1 sets no limit.
    """

    def __init__(self, share: float, now: float) -> None:
        self._seconds = TokenBucket(share / (1 - share), MAX_SAVED_S, saved=0.0, now=now) if share < 1 else None

    def turn(self, now: float, *, waiting: bool) -> float | None:
        """Return the seconds that following may take now; None if it has no turn. ``waiting``: whether records wait."""
        if self._seconds is None:
            return _IDLE_TURN_S
        saved = self._seconds.saved(now)
        if not waiting:
            return _IDLE_TURN_S if saved >= 0 else None
        return saved if saved > 0 else None

    def took(self, now: float, waited_s: float) -> None:
        """Charge the turn that has ended. ``waited_s``: how long the oldest waiting record has waited, 0 if none waits."""
        if self._seconds is not None:
            self._seconds.spend(min(now - self._seconds.since, waited_s))
            self._seconds.since = now  # the turn itself earns nothing
