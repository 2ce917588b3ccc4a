"""Grafana's dashboards, written in Python with Grafana's foundation SDK: one module per dashboard, all panels in panels.py.

``python -m helm.dashboards helm/reflink/dashboards`` writes the JSON files that the chart and the compose file load.
"""
