"""A pipeline on one machine for demos and tests: Kafka brokers, and the workers as processes."""
