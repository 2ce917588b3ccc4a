"""Labels of a citation's tokens, in the order of the weights' columns. Each token has one label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

#: O none of the others (punctuation between fields, notes, access dates); L last name of an author; A the rest of the list of
#: authors (given names, text between names, et al.); C authors that are groups; D editors; T title of the article or chapter;
#: V journal, proceedings or book; P publisher and place; Y year; N volume; I issue; F first page or article number; E last
#: page.
LABELS: Final = "OLACDTVPYNIFE"
O, L, A, C, D, T, V, P, Y, N, I, F, E = range(len(LABELS))  # noqa: E741


def label_runs(labels: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the label, start and stop of each run of equal labels, in order."""
    start = 0
    for label, run in groupby(labels):
        stop = start + len(list(run))
        yield label, start, stop
        start = stop
