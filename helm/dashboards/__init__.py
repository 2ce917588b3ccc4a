"""Grafana's dashboards, written in Python with Grafana's own foundation SDK: one module each, all panels in panels.py.

``python -m helm.dashboards helm/reflink/dashboards`` writes the JSON files that the chart and the compose file load.
"""
