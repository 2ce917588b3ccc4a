"""Outcomes for tests, built by hand or drawn."""

from __future__ import annotations

from hypothesis import strategies as st

from reflink.entities import Candidate, Link
from reflink.evaluation.outcomes import Outcome


def outcome(
    cited: str | None = "w", *, present: bool = True, right: bool = False, p: float | None = 0.9, citing: str = "c",
    kind: str = "front", best: bool | None = None, refused: str | None = "v",
) -> Outcome:  # fmt: skip
    """Return an outcome; ``refused``: the best candidate if nothing was linked."""
    runner_up = Candidate(cited=refused, score=0.5) if cited is None and refused else None
    link = Link(
        reference="r", citing=citing, cited=cited, method="semantic" if cited else None, probability=p, runner_up=runner_up,
        unresolved=None if cited else "not-in-catalog",
    )  # fmt: skip
    return Outcome("r", kind, present, right, link, right if best is None else best)


@st.composite
def drawn(draw: st.DrawFn) -> Outcome:
    """Draw an outcome of a policy with ``accept`` 0.5: linked from there on, without a probability if nothing was proposed."""
    p = draw(st.none() | st.integers(0, 1_000_000).map(lambda n: n / 1_000_000))
    linked = p is not None and p >= 0.5
    present = draw(st.booleans())
    best = p is not None and present and draw(st.booleans())
    return outcome(
        "w" if linked else None, present=present, right=linked and best, p=p, best=best, citing=draw(st.sampled_from("abcd")),
        kind=draw(st.sampled_from(["front", "cocite"])), refused=None if p is None else "v",
    )  # fmt: skip
