"""Long campaigns against a real Kafka, a real control plane, or damaged papers; their parts are tested in every run."""
