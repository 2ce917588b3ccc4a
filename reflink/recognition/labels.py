"""Labels of a citation's tokens, in the order of the weights' columns. Each token has one label."""

from __future__ import annotations

from typing import Final

#: O none of the others (punctuation between fields, notes, access dates); L last name of an author; A the rest of the list of
#: authors (given names, text between names, et al.); C authors that are groups; D editors; T title of the article or chapter;
#: V journal, proceedings or book; P publisher and place; Y year; N volume; I issue; F first page or article number; E last
#: page.
LABELS: Final = "OLACDTVPYNIFE"
O, L, A, C, D, T, V, P, Y, N, I, F, E = range(len(LABELS))  # noqa: E741
