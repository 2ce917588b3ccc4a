"""The chart's values for a run of minutes on one machine. Each line that differs from the chart's own says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PARTITIONS: Final = 6
#: Fewest of each worker; the ledger is not scaled.
LEAST: Final = {"parser": 1, "linker": 1, "fallback": 1, "ledger": 1}
#: What one pod handles in a second while the others share its two cores, roughly.
_RATES: Final = {"parser": 20, "linker": 150, "fallback": 10}
_MOST: Final = {"parser": 3, "linker": 4, "fallback": 3}


def values(broker: str, prefix: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """For this broker and these topics, with more settings of all workers."""
    workers: dict[str, Any] = {
        name: {"autoscaling": {"minReplicas": LEAST[name], "maxReplicas": _MOST[name], "recordsPerSecond": _RATES[name]}}
        for name in _MOST
    }
    return {
        "kafka": {"bootstrapServers": broker, "topicPrefix": prefix},
        "topics": {"partitions": PARTITIONS, "replication": 1},
        # Made before the chart is installed, of the examples' works: a minute's encoding on each start would be all there is.
        "catalog": {"source": "volume", "snapshots": {"enabled": False}},
        # The catalog stays as it is, so that two cores are the workers'. One paper of twenty is none, which is no flood here.
        "settings": {"REFLINK_OFFER_PAPERS": False, "REFLINK_FLOOD_SHARE": 0.2, **settings},
        "workers": workers,
        "autoscaling": {
            "enabled": True,
            # Seconds; the chart's own in brackets. A burst here is over in two minutes, a day's lasts hours.
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
