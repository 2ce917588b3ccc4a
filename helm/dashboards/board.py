"""The parts of a dashboard around its panels: rows, panel ids, variables, and links to the other dashboards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from helm.dashboards.panels import COLUMNS, SOURCE, Panel

TAG: Final = "reflink"


class Row(NamedTuple):
    """A heading and the panels under it, which fill Grafana's 24 columns line by line.

    ``lines`` are the numbers of panels in each line, of equal widths; without it, panels keep their own widths.
    """

    title: str
    panels: Sequence[Panel]
    lines: Sequence[int] = ()


class Choice(NamedTuple):
    """A variable whose values are the values of a label of a series. By default all values are selected."""

    name: str
    series: str


def board(name: str, title: str, description: str, rows: Sequence[Row], choices: Sequence[Choice] = ()) -> str:
    """Return the JSON of a dashboard; the same input gives the same text."""
    made = (
        dashboard.Dashboard(title)
        .uid(f"reflink-{name}")
        .description(description)
        .tags([TAG])
        .timezone("browser")
        .time("now-1h", "now")
        .refresh("30s")
        .editable()
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(_others())
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )
    for choice in (Choice("namespace", "reflink_ready"), *choices):
        made.with_variable(_variable(choice))
    number = 0
    for row in rows:
        number += 1
        made.with_row(dashboard.Row(row.title).id(number))
        widths = [COLUMNS // count + (place < COLUMNS % count) for count in row.lines for place in range(count)]
        for panel, width in zip(row.panels, widths, strict=bool(widths)):
            panel.span(width)
        for panel in row.panels:
            number += 1
            made.with_panel(panel.id(number))
    return json.dumps(made.build(), cls=JSONEncoder, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _others() -> dashboard.DashboardLink:
    found = dashboard.DashboardLink("reflink").type(models.DashboardLinkType.DASHBOARDS).tags([TAG])
    return found.as_dropdown(True).include_vars(True).keep_time(True)


def _variable(choice: Choice) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(choice.name)
        .label(choice.name)
        .datasource(SOURCE)
        .query(f"label_values({choice.series}, {choice.name})")
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        # "All" also matches series without the label.
        .all_value(".*")
        .current(models.VariableOption(selected=True, text=["All"], value=["$__all"]))
    )
