"""The figures that the paper reports: shares and errors as fractions, times in seconds per reference.

The paper's test: 5.27 million candidates, references of papers that cite works of 2022 and later, every target among the
candidates. Errors are means over two subsets of 20,000 references; times are on one NVIDIA RTX 3090.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reflink.linking.policy import Policy
from reflink.text import LIMITS as LIMITS

#: Number of candidates, and of references in the two subsets together.
CANDIDATES: Final = 5_270_000
REFERENCES: Final = 40_000

#: Table 1: share of the candidates, and of the references, that have a field.
CANDIDATE_FIELDS: Final[Mapping[str, float]] = {"T": 1.0, "V": 1.0, "Y": 1.0, "L": 0.965, "A": 0.878}
REFERENCE_FIELDS: Final[Mapping[str, float]] = {"T": 0.992, "V": 0.999, "Y": 0.993, "L": 0.904, "A": 0.0}

#: Table 2: error by approach and mode. (Table 4 is LIMITS, the lengths to which reflink.text truncates fields.)
ERRORS: Final[Mapping[str, Mapping[str, float]]] = {
    "TitleMatch": {"T": 0.2707},
    "Jaccard": {"Raw": 0.0095, "T": 0.0143, "TV": 0.0124, "TY": 0.0140, "TL": 0.0108, "TVY": 0.0125},
    "Sent2Vec": {"Raw": 0.0741, "T": 0.0281, "TV": 0.0340, "TY": 0.0227, "TL": 0.0495, "TA": 0.5402},
    "SBERT": {
        "Raw": 0.0216, "T": 0.0262, "TV": 0.0225, "TY": 0.0246, "TL": 0.0227, "TA": 0.3512, "TVL": 0.0190, "TVLY": 0.0192,
    },
    "HAtten": {"Raw": 0.3782, "T": 0.0444, "TV": 0.1989, "TY": 0.0475, "TL": 0.0874, "TA": 0.7928},
    "SciNCL": {"Raw": 0.0532, "T": 0.0308, "TV": 0.0329, "TY": 0.0286, "TL": 0.0278, "TA": 0.4677, "TLY": 0.0271},
}  # fmt: skip

#: Section 5.2. SBERT's time is the same in every mode; Jaccard's is reported for two; TitleMatch is "almost instantaneous".
SECONDS: Final[Mapping[str, Mapping[str, float]]] = {
    "Jaccard": {"T": 0.52, "Raw": 1.89},
    "SBERT": dict.fromkeys(ERRORS["SBERT"], 0.02),
}

#: The recommended threshold for SBERT and mode TVL: the point of the precision-recall curve nearest (1, 1).
THRESHOLD: Final = Policy().threshold


def error(approach: str, mode: str) -> float | None:
    """Return the paper's error; None if the paper does not report it.

    ``approach``: one of ERRORS in any case, or the name of an encoder, which has the digest of its weights behind "@".
    """
    plain = approach.partition("@")[0].lower()
    return next((errors.get(mode) for name, errors in ERRORS.items() if name.lower() == plain), None)


def seconds(approach: str, mode: str) -> float | None:
    """Return the paper's seconds per reference; None if the paper does not report it."""
    return SECONDS.get(approach, {}).get(mode)
