"""Metrics, logs, and the HTTP server that publishes metrics and health."""
