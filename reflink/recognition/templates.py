"""Templates of the citation styles in `reflink.recognition.styles`, for journals, books and other scripts.

A authors, D editors, T title, V journal or book, P publisher, Y year, N volume, I issue, F and E pages, C a group; invented: M
a meeting, l its place, d day and month, m month, a date of access, k kind of thesis or report. The text between two ``|`` is
printed if its fields are known. ``@`` is the dash between pages, ``~`` a space that may be missing.
"""

from __future__ import annotations

from typing import Final

JOURNAL: Final = (
    "{A}. |{T}. |{V}. |{Y}|;{N}|({I})|:{F}|@{E}|.",
    "{A}. |{T}. |{V} |{Y}|;{N}|({I})|:{F}|@{E}|.",
    "{A}. |{T}. |{V}. |{Y} {m}|;{N}|({I})|:{F}|@{E}|.",
    "{A} |({Y}) |{T}. |{V}|~{N}|({I})|: {F}|@{E}|.",
    "{A} |({Y}) |{T}. |{V}|~{N}|({I})|:{F}|@{E}",
    "{A} |({Y}). |{T}. |{V}|, {N}|({I})|, {F}|@{E}|.",
    "{A} |({Y}). |{T}. |{V}|~{N}|, {F}|@{E}|.",
    "{A}. |{T}. |{V}|~{N}|, {F}|@{E}| ({Y})|.",
    "{A} |{T}. |{V}|~{N}|, {F}|@{E}| ({Y})|.",
    "{A}. |{T}. |{V}|~{N}| ({I})|, {F}|@{E}| ({Y})|.",
    "{A}. |{T}. |{V}|~{N}|, {F}|@{E}|, ({Y})|.",
    "{A}. |{T}. |{V}|~{N}|:{F}|@{E}|, {Y}|.",
    "{A}, |“{T},” |{V}|, vol. {N}|, no. {I}|, pp. {F}|@{E}|, {Y}|.",
    "{A}, |\"{T},\" |{V}|, vol. {N}|, no. {I}|, p. {F}|, {m} {Y}|.",
    "{A}, |‘{T}’, |{V}|, {N}|.{I}| ({Y})|, {F}|@{E}|.",
    "{A} |({Y}) |'{T}', |{V}|, vol. {N}|, no. {I}|, pp. {F}|@{E}|.",
    "{A}: |{T}. |{V}| {Y}|, {N}|({I})|:{F}|@{E}|.",
    "{A}: |{T}. |{V}|~{N}|:{F}|@{E}|, {Y}",
    "{A}. |{Y}. |{T}. |{V}|. {N}|:{F}|@{E}|.",
    "{A}. |{Y}. |{T}. |{V}|~{N}|({I})|: {F}|@{E}|.",
    "{A}. |{Y}. |“{T}.” |{V}|~{N}|, no. {I}|: {F}|@{E}|.",
    "{A}, |{Y}. |{T}. |{V}|~{N}|, {F}|@{E}|.",
    "{A}, |{T}, |{V}|~{N}| ({Y})| {F}|@{E}|.",
    "{A}, |{T}. |{V}| ({Y})|, {N}|: {F}|@{E}|.",
    "{A}. |{T}. |{V}|, v. {N}|, n. {I}|, p. {F}|@{E}|, {Y}|.",
    "{A}. |{T}. |{V}|, {N}|: {F}|@{E}|, {Y}|.",
    "{A}. - |{T}. |{V}|, {N}|: {F}|@{E}|, {Y}|.",
    "{A}. |{T} // |{V}|. – {Y}|. – Vol. {N}|, № {I}|. – P. {F}|@{E}|.",
    "{A}, |\"{T},\" |{V}|, Vol.{N}|, No.{I}|, pp.{F}|@{E}|, {Y}|.",
    "{A}; |{T}; |{V}| {Y}|; {N}|, {F}|@{E}|.",
    "{A}, |{T}. |{V}|, {Y}|, {N}|, {F}|@{E}|.",
    "{A}, |{T}. |{V}|, {Y}|. {N}|({I})|: p. {F}|@{E}|.",
    "{T}. |{A}. |{V}|, {N}|, {F}|@{E}| ({Y})|.",
    "{A}, |„{T}“, |{V}|, Bd. {N}|, Nr. {I}|, {Y}|, S. {F}|@{E}|.",
    "{A}: |{T}. |In: {V}|~{N}| ({Y})|, S. {F}|@{E}|.",
    "{A} |({Y}), |« {T} », |{V}|, vol. {N}|, n° {I}|, p. {F}|@{E}|.",
    "{A}, |{T}, |{V}|, t. {N}|, {Y}|, p. {F}|@{E}|.",
    "{A}. |{T}. |{V}|, {m} {d}, {Y}|; {N}|({I})|: {F}|@{E}|.",
    "{A}, |'{T},' |{V}|, Vol.{N}|, No.{I}|, pp.{F}|@{E}|, {Y}|.",
    "{A}. |{T}. |{V}|, {N}|({I})|:{F}|@{E}|, {m} {Y}|.",
    "{A}. |{T}. |{Y}. |{V}|, {N}|({I})|, {F}|@{E}|.",
)  # fmt: skip
UNTITLED: Final = (
    "{A}, |{V}| {Y}|, {N}|, {F}|@{E}|.",
    "{A}. |{V}. |{Y}|, {N}|, {F}|@{E}|.",
    "{A}, |{V}|~{N}|, {F}| ({Y})|.",
    "{A}, |{V}|~{N}| ({Y})| {F}|.",
    "{A}, |{V}|, {N}|, {F}| ({Y})|.",
    "{A} |({Y}). |{V}|~{N}|, {F}|@{E}|.",
    "{A}. |{V}|, {Y}|, {N}|: {F}|@{E}|.",
    "{A} |({Y}) |{V}|~{N}|:{F}|@{E}|.",
    "{A}. |{V}|~{N}|, {F}| ({Y})|.",
    "{A} |{Y}, |{V}|, {N}|, {F}",
    "{A}, |{Y}, |{V}|, {N}|, {F}",
    "{A} |{Y} |{V}|~{N}| {F}",
    "{A} |{V}|, {N}| ({Y})| {F}|.",
    "{A}; |{V}|~{N}|, {F}|, {Y}|; and references therein.",
    "{V}|~{N}|, {F}| ({Y})|.",
    "{V}| {Y}|, {N}|:{F}|@{E}",
    "{V}|, VOL. {N}|, NO. {I}|, {m} {Y}",
)
MEETING: Final = (
    "{A}. |{T}. |In {M}|, {l}|, {d}|.",
    "{A}. |{T}. |In: {M}|, {d}|; {l}|. p. {F}|@{E}|.",
    "{A}, |“{T},” |in {M}|, {l}|, {m} {Y}|, pp. {F}|@{E}|.",
    '{A}, |"{T}", |{M}|, {l}|, {d}|.',
    "{A}. |{Y}. |{T}. |In {M}|. {l}|, {F}|@{E}|.",
    "{A} |({Y}). |{T}. |In {M}| (pp. {F}@{E})|. {P}|.",
    "{A}. |{T}. |In {M}|, pages {F}|@{E}|, {Y}|.",
    "{A}: |{T}. |In: {M}|, pp. {F}|@{E}| ({Y})|.",
    "{A}. |{T}. |Paper presented at: {M}|; {d}|; {l}|.",
    "{A}. |{T}. |{M}|. {P}|; {Y}|:{F}|@{E}|.",
)
KINDS_OF_MEETING: Final = (
    "Proceedings of the {n} International Conference on {x}", "Proc. {n} Int. Conf. {x}", "Advances in {x}",
    "Proceedings of the {n} Symposium on {x}", "{n} Annual Meeting of the {x} Society", "Proc. of the {n} {x} Workshop",
    "Proceedings of {x}", "International Workshop on {x}", "{n} European Conference on {x}", "Proc. IEEE {x}",
    "Proceedings of the IEEE Conference on {x}",
)  # fmt: skip
PLACES: Final = (
    "Barcelona, Spain", "Amsterdam, The Netherlands", "San Francisco, CA", "Tokyo, Japan", "New York, USA", "Lyon, France",
    "Beijing, China", "Haifa, Israel", "Hong Kong", "Paris", "Washington, DC, USA", "Seoul, Korea", "Vienna, Austria",
    "London, UK",
)  # fmt: skip
BOOK: Final = (
    "{D}, editors. |{T}. |{P}; |{Y}|.",
    "{D} (ed.). |{T}. |{P}; |{Y}|.",
    "{D} (Eds.). |({Y}). |{T}. |{P}|.",
    "{A}. |{T}. |1st ed. |{P}; |{Y}|.",
    "{A}. |{T} 2nd edn |({P}, {Y})|.",
    "{A}. |{T}. |({P}, {Y})|.",
    "{A}. |{T}. |{P}; |{Y}|.",
    "{A} |({Y}) |{T}. |{P}|.",
    "{A} |({Y}). |{T}. |{P}|.",
    "{A}. |{T}| ({P}, {Y})|.",
    "{A}, |{T}|, {P}|, {Y}|.",
    "{A}. |{Y}. |{T}. |{P}|.",
    "{A}. |{T}. |{P}, |{Y}|. {F} p.",
    "{A}, |{T}| ({P}, {Y})|, p. {F}|.",
)
CHAPTER: Final = (
    "{A}. |{T}. |In: {D}, editor. |{V}. |{P}; |{Y}|. p. {F}|@{E}|.",
    "{A}. |{T}. |In: {D}, ed. |{V}. |{P}; |{Y}|. p. {F}|@{E}|.",
    "{A}. |{T}. |In {D}, eds. |{V}. |{P}; |{Y}|:{F}|@{E}|.",
    "{A} |({Y}) |{T}. |In: {D}, eds. |{V}. |{P}|. pp {F}|@{E}|.",
    "{A}. |{T} |in {V}| (ed. {D})| {F}|@{E}| ({P}, {Y})|.",
    "{A}. |{T} |in {V}| (eds {D})| {F}|@{E}| ({Y})|.",
    "{A}. |{T}. |In: {D}, editors. |{V}. |{P}; |{Y}|. p. {F}|@{E}|.",
    "{A} |({Y}). |{T}. |In {D} (Eds.), |{V}| (pp. {F}@{E})|. {P}|.",
    "{A} |({Y}) |{T}. |In: {D} (eds) |{V}|. {P}|, pp {F}|@{E}",
    "{A}. |{T}. |in {V}| (eds {D})| {F}|@{E}| ({P}, {Y})|.",
    "{A}, |{T}, |in: {D} (Eds.), |{V}|, {P}|, {Y}|, pp. {F}|@{E}|.",
    "{A}. |“{T}.” |In {V}|, edited by {D}|, {F}|@{E}|. {P}|, {Y}|.",
    "{A}, |“{T},” |in {V}|, {P}|, {Y}|, pp. {F}|@{E}|.",
    "{A}. |{T}. |In {V}|, {F}|@{E}| ({Y})|.",
)
OTHER: Final = (
    "{C}. |{T}. |{Y}. Available from: . Accessed {a}.",
    "{C} |({Y}). |{T}. |{P}. Retrieved {a}, from",
    "{C}. |{T}. |{P}; |{Y}|.",
    "{A}. |{T}. Ph.D. thesis, |{P}, |{Y}|.",
    "{A} |({Y}). |{T}. Dissertation, |{P}|.",
    "{A}. |{T}. arXiv preprint |({Y})|.",
    "{A}. |{T}. |{V}. In press.",
    "{A}. Personal communication.",
    "{C}. |{T} [Internet]. |{P}; |{Y}| [cited {a}]. Available from:",
    "{A}. |{T} [{k}]. |{P}, |{Y}|.",
    "{A}. |{T}. |{k}, |{P}|, {Y}|.",
    "{A}, |“{T},” |{k}, |{P}|, {m} {Y}|.",
    "{A}: |{T}. |{k}|. {P}| ({Y})|.",
)
MONTHS: Final = "January February March April May June July August September October November December".split()
KINDS: Final = (
    "Ph.D. thesis", "PhD dissertation", "Master's thesis", "Technical Report 94-12", "Thèse de doctorat", "Dissertation",
    "Masters thesis", "Working paper 1023", "Report No. 25", "Tese (Doutorado)", "Diplomarbeit", "Unpublished manuscript",
)  # fmt: skip
PREFIXES: Final = ("1. ", "[12] ", "23 ", "(4) ", "7) ", "[5]", "• ")
SUFFIXES: Final = (
    " doi:", " PMID:", " [in Chinese]", " Epub 2005/08/06.", " Available at:", " (in Russian).", " Accessed 12 Sep 2008.",
    " 0032-5791", " ISSN 1234-567X", " ISBN 978-3-540-61530-9.", " MR0423716", " Medline.",
)  # fmt: skip
