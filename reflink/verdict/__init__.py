"""Evidence for and against a pair of reference and work, and the verdict on it: a probability with reasons."""

from reflink.verdict.description import Description, describe_reference, describe_work
from reflink.verdict.evidence import Evidence, compare, evidence
from reflink.verdict.judge import Judge, Verdict, judge
from reflink.verdict.model import Model

__all__ = [
    "Description", "Evidence", "Judge", "Model", "Verdict", "compare", "describe_reference", "describe_work", "evidence",
    "judge",
]  # fmt: skip
