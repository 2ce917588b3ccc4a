"""Settings of the workers and tools: environment variables, connection to the brokers, and detection of mistyped names."""
