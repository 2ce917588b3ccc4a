"""``reflink-worker replay``: judging again at one's own pace, all references or a selection.

- ``replaying``: one run of it; ``position``: how far it is, kept in Kafka; ``sending``: both in one transaction
- ``selecting``, ``ranges``, ``sieving``, ``superseding``: which records of ``links`` are meant
- ``pacing``, ``lagging``: not faster than wanted, and not ahead of the linkers
- ``rehearsing``, ``comparing``: the dry run, and what it would change
"""
