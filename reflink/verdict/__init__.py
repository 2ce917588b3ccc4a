"""Evidence for and against a pair of a reference and a work, and the verdict on the pair: a probability with reasons."""

from reflink.verdict.batch import evidence
from reflink.verdict.evidence import Evidence
from reflink.verdict.judge import Judge, Verdict, judge
from reflink.verdict.model import Model

__all__ = ["Evidence", "Judge", "Model", "Verdict", "evidence", "judge"]
