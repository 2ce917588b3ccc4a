"""The runtime that runs every stage: it polls, batches, handles and commits, exactly once.

- ``runtime``: one worker; ``poll_loop`` and ``commit_loop``: its two Kafka loops
- ``flow``: the state that its threads share, composed of ``partitions``, ``partition_states``, ``record_queue``, ``in_flight``
- ``batching``: from records to batches; ``finished``: from batches to commits; ``background_tasks``: work between batches
- ``backpressure``, ``lag``, ``stalls``: what the poll loop pauses, measures and supervises
- ``isolation``, ``flood_guard``, ``crash_journal``: records that cannot be handled
- ``slot_lock``, ``group_membership``, ``topic_watch``: one process per slot, and the group and topics it belongs to
- ``watchdog``, ``process_memory``, ``initial_series``: supervision
"""
