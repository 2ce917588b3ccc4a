"""Everything that touches Kafka. A worker is a function from a batch of events to messages; one runtime runs them all.

Each package is a room; ``tests/test_layers.py`` lists which room may import which.

- ``stage``, ``records``, ``dead_letter``: the contract between the runtime and a worker; ``errors``, ``rates``, ``signals``
- ``config``: settings; ``telemetry``: metrics, logs and the HTTP server; ``kafka``: clients, topics and readers
- ``runtime``: the loop that polls, handles and commits with exactly-once semantics
- ``catalog``: how workers follow the catalog topic; ``papers``, ``linking``, ``ledger``: the stages
- ``replay``, ``tools``: the other commands; ``cli``: the command line; ``devkit``, ``demo``: a pipeline on one machine
"""
