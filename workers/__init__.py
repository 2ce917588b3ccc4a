"""Everything that touches Kafka. A worker is a function from a batch of events to messages; one runtime runs them all."""
