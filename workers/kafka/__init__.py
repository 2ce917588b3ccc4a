"""Kafka clients, the topics of the pipeline, and readers of them.

- ``clients``, ``network``, ``assignor``, ``transactional_producer``, ``bulk_producer``: kafka-python, configured and corrected
- ``preflight``, ``handshake``, ``tls``, ``errors``: why a connection or a request fails
- ``topics``, ``partition_counts``: the topics and their partitions
- ``range_reader``, ``group_lag``, ``open_transactions``: reads outside the consumer group
"""
