"""The whole pipeline on one machine: a Kafka broker, the workers as processes, and the demo that shows them at work."""
