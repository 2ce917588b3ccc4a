"""Linking: candidates of a reference, verdicts on them, and the decision.

- ``linker``: the semantic and the lexical step, and both in one call; ``policy``: thresholds
- ``candidates``: search of both indexes; ``judging``: the verdicts on the candidates of a batch
"""
