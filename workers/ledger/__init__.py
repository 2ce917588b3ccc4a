"""The ledger: the one current outcome of every reference, and who has outcomes judged again.

- ``stage``: what the runtime runs; ``view``: what its pure functions see
- ``taking``: events of ``outcomes``; ``asking``: what is published, and what is sent to be judged again
- ``waking``, ``sweeping``, ``settling``: the chores; ``permits``: how many a second
- ``overriding``, ``override_reading``, ``override_inbox``: what curators say
- ``store``, ``indexing``, ``restoring``: the outcomes of a partition on disk, by key, and how they come back
- ``worktable``, ``components``: works by key on disk, with a log of changes
- ``rocks``, ``filelist``: a RocksDB, its care, and its damages
"""
