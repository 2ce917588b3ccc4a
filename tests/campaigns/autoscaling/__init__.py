"""Tests the chart on a real control plane, scaled by KEDA on the lag of a real Kafka; worker processes replace the pods."""
