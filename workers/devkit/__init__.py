"""A pipeline on one machine for demos and tests: Kafka brokers, nodes of a search engine, and the workers as processes."""
