"""The kinds of panels and their appearance. Every panel has a unit, a description and queries with legends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from grafana_foundation_sdk.builders import bargauge, common, dashboard, heatmap, prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

#: The user of the dashboard chooses the data source; the file names none.
SOURCE: Final = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
#: Width of Grafana's grid.
COLUMNS: Final = 24
#: Height of a row of figures, and of a row of curves.
SMALL, TALL = 4, 8
#: Any of the SDK's panel builders; they share their methods but no type.
Panel = Any

GREEN, YELLOW, RED, BLUE = "green", "yellow", "red", "blue"
#: The lower bound of each colour; the first has none.
Steps = Sequence[tuple[float | None, str]]


class Query(NamedTuple):
    """An expression, and the legend of its series: text with ``{{label}}`` in it."""

    expression: str
    legend: str = ""


def figure(
    title: str,
    description: str,
    unit: str,
    query: Query,
    steps: Steps,
    *,
    decimals: int = 1,
    nothing: str = "no data",
) -> Panel:
    """One number, coloured by its value, over a faint curve; ``nothing`` is shown when there is no value."""
    return (
        _common(stat.Panel(), title, description, unit, [query], 3, SMALL)
        .decimals(decimals)
        .no_value(nothing)
        .thresholds(_thresholds(steps))
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False))
        .graph_mode(shapes.BigValueGraphMode.AREA)
        .color_mode(shapes.BigValueColorMode.VALUE)
        .text_mode(shapes.BigValueTextMode.VALUE)
    )


def curves(
    title: str,
    description: str,
    unit: str,
    queries: Sequence[Query],
    *,
    span: int = 8,
    stacked: Literal["", "normal", "percent"] = "",
    limit: float | None = None,
    most: float | None = None,
) -> Panel:
    """Lines over time, or stacked areas. ``limit`` is drawn as a dashed line; ``most`` is the maximum of the axis."""
    panel = (
        _common(timeseries.Panel(), title, description, unit, queries, span, TALL)
        .min(0)
        .line_width(1 if stacked else 2)
        .fill_opacity(60 if stacked else 5)
        .show_points(shapes.VisibilityMode.NEVER)
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
        .legend(_legend())
        .tooltip(common.VizTooltipOptions().mode(shapes.TooltipDisplayMode.MULTI).sort(shapes.SortOrder.DESCENDING))
    )
    if stacked:
        panel.stacking(common.StackingConfig().mode(shapes.StackingMode(stacked)).group("A"))
    if limit is not None:
        panel.thresholds(_thresholds([(None, "transparent"), (limit, RED)]))
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(shapes.GraphThresholdsStyleMode.DASHED))
    if most is not None:
        panel.max(most)
    return panel


def bars(title: str, description: str, unit: str, query: Query, *, most: float | None = None) -> Panel:
    """A bar for the current value of each series."""
    panel = (
        _common(bargauge.Panel(), title, description, unit, [query], 8, TALL, instant=True)
        .min(0)
        .thresholds(_thresholds([(None, BLUE)]))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False))
        .display_mode(shapes.BarGaugeDisplayMode.BASIC)
        .orientation(shapes.VizOrientation.HORIZONTAL)
        .show_unfilled(True)
    )
    return panel if most is None else panel.max(most)


def spread(title: str, description: str, unit: str, expression: str, *, decimals: int = 2) -> Panel:
    """A histogram over time: columns are times, rows are buckets, the colour is the number of observations in the bucket."""
    return (
        _common(heatmap.Panel(), title, description, unit, [Query(expression, "{{le}}")], 8, TALL, heat=True)
        .calculate(False)
        .cell_gap(1)
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Blues").steps(64).reverse(False))
        .y_axis(heatmap.YAxisConfig().unit(unit).decimals(decimals).axis_placement(shapes.AxisPlacement.LEFT))
        .cell_values(heatmap.CellValues().unit("short"))
        .hide_legend()
        .show_y_histogram()
    )


def states(title: str, description: str, query: Query, names: Mapping[int, tuple[str, str]]) -> Panel:
    """A band of states over time for each series. ``names`` maps a value to its text and colour."""
    words: list[models.ValueMapping] = [
        models.ValueMap(
            {
                str(value): models.ValueMappingResult(text=text, color=colour, index=index)
                for index, (value, (text, colour)) in enumerate(names.items())
            }
        )
    ]
    return (
        _common(statetimeline.Panel(), title, description, "bool", [query], 9, TALL)
        .mappings(words)
        .thresholds(_thresholds([(None, RED), (1, GREEN)]))
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .show_value(shapes.VisibilityMode.NEVER)
        .row_height(0.8)
        .fill_opacity(70)
        .line_width(0)
        .merge_values(True)
        .legend(_legend())
    )


def _common(
    panel: Panel,
    title: str,
    description: str,
    unit: str,
    queries: Sequence[Query],
    span: int,
    height: int,
    *,
    instant: bool = False,
    heat: bool = False,
) -> Panel:
    panel.title(title).description(description).unit(unit).span(span).height(height).datasource(SOURCE)
    for index, query in enumerate(queries):
        target = prometheus.Dataquery().datasource(SOURCE).expr(query.expression).ref_id(chr(ord("A") + index))
        target.legend_format(query.legend or title)
        target.format(PromQueryFormat.HEATMAP if heat else PromQueryFormat.TIME_SERIES)
        panel.with_target(target.instant() if instant else target.range())
    return panel


def _thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    found = [models.Threshold(value=value, color=colour) for value, colour in steps]
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(found)


def _legend() -> common.VizLegendOptions:
    shown = common.VizLegendOptions().display_mode(shapes.LegendDisplayMode.LIST)
    return shown.placement(shapes.LegendPlacement.BOTTOM).show_legend(True)
