"""Records of one article without a common identifier: blocking keys and the probability that two records are one article."""

from reflink.grouping.keys import keys
from reflink.grouping.sameness import Sameness

__all__ = ["Sameness", "keys"]
