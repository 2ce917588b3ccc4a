"""``reflink-worker replay``: re-evaluate all or selected references at a limited rate.

- ``runner``: one run; ``checkpoint``: its progress, stored in Kafka; ``transaction``: records and progress in one transaction
- ``selection``, ``record_filter``, ``latest_offsets``: which records of ``links`` to replay
- ``pacing``: the rate limit, and the limit on records that the linkers have not read yet
- ``dry_run``, ``diff``: the dry run, and the changes that a replay would make
"""
