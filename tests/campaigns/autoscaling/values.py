"""The chart's values for a run of minutes on one machine. Comments give the reasons for values other than the chart's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PARTITIONS: Final = 6
#: Minimum number of replicas of each worker; the ledger is not scaled.
MIN_REPLICAS: Final = {"parser": 1, "linker": 1, "fallback": 1, "ledger": 1}
#: Records per second that one pod handles while the other pods share its two cores, roughly.
_RATES: Final = {"parser": 20, "linker": 150, "fallback": 10}
_MAX_REPLICAS: Final = {"parser": 3, "linker": 4, "fallback": 3}


def values(broker: str, prefix: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the values for this broker and topic prefix, with additional settings of all workers."""
    workers: dict[str, Any] = {
        name: {"autoscaling": {"minReplicas": MIN_REPLICAS[name], "maxReplicas": maximum, "recordsPerSecond": _RATES[name]}}
        for name, maximum in _MAX_REPLICAS.items()
    }
    return {
        "kafka": {"bootstrapServers": broker, "topicPrefix": prefix},
        "topics": {"partitions": PARTITIONS, "replication": 1},
        # The snapshot of the examples' works is made before the installation: a minute of encoding per start would dominate.
        "catalog": {"source": "volume", "snapshots": {"enabled": False}},
        # Papers are not added to the catalog, to leave the two cores to the workers. One paper in 25 is poison, not a flood.
        "settings": {"REFLINK_OFFER_PAPERS": False, "REFLINK_FLOOD_SHARE": 0.2, **settings},
        "workers": workers,
        "autoscaling": {
            "enabled": True,
            # Seconds; the chart's own in brackets. A burst here lasts two minutes, a daily peak in production hours.
            "targetLagSeconds": 2,  # (60)
            "pollingIntervalSeconds": 5,  # (15)
            "behavior": {
                "scaleUp": {
                    "policies": [
                        {"type": "Percent", "value": 100, "periodSeconds": 15},  # (30)
                        {"type": "Pods", "value": 4, "periodSeconds": 15},  # (30)
                    ]
                },
                "scaleDown": {
                    "stabilizationWindowSeconds": 60,  # (300)
                    "policies": [{"type": "Pods", "value": 1, "periodSeconds": 15}],  # (120)
                },
            },
        },
    }
