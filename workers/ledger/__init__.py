"""Ledger: publishes the one current outcome of every reference and requests re-evaluations.

- ``stage``: the stage that the runtime runs; ``view``: the state that its pure functions read; ``transaction``: their reads and
  writes in one partition
- ``apply_outcomes``: events of ``outcomes``; ``papers``: states of papers; ``reevaluation``: requests for re-evaluation
- ``change_propagation`` and ``change_filter``, ``sweep``, ``override_settling``: background tasks
- ``override_rules``, ``override_reader``, ``override_inbox``: overrides by curators
- ``recovery``: restores the stores of a partition; ``stores``: the stores on disk
"""
