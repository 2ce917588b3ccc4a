"""How much of a busy worker's time following the catalog, or a stage's chores, may take, kept as an account of seconds."""

from __future__ import annotations

from typing import Final

#: Most seconds of following that can be saved up: no record waits longer for one turn, but for the end of a step.
MOST_SAVED_S: Final = 0.5
#: Seconds of one turn while no record waits; between turns it is seen whether one does.
_IDLE_TURN_S: Final = 0.02


class FollowShare:
    """Following may take ``share`` of the time, counted from ``now`` on; what it takes while no record waits is free.

    A turn applies at least one step, which may be longer than what was saved. The rest is owed, and there is no turn until the
    other work has earned it. ``share`` 1 sets no limit. ``now`` is always in seconds of the caller's clock.
    """

    def __init__(self, share: float, now: float) -> None:
        self._earns = share / (1 - share) if share < 1 else None
        self._balance = 0.0
        self._since = now

    def turn(self, now: float, *, waiting: bool) -> float | None:
        """Seconds that following may take now; None when it is not its turn. ``waiting``: whether records do."""
        if self._earns is None:
            return _IDLE_TURN_S
        self._balance = min(MOST_SAVED_S, self._balance + (now - self._since) * self._earns)
        self._since = now
        if not waiting:
            return _IDLE_TURN_S if self._balance >= 0 else None
        return self._balance if self._balance > 0 else None

    def took(self, now: float, waited_s: float) -> None:
        """The turn has ended. ``waited_s``: how long the oldest waiting record has waited, 0 when none does."""
        self._balance -= min(now - self._since, waited_s)
        self._since = now
