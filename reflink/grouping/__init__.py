"""Records of one article without a common identifier: blocking keys and the probability that two records are one article."""
