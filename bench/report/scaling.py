"""The plots of `nestbench scaling`: one of all series, one for each, and memory."""

import charts
from charts import Line
from figures import Figures, Row, amount, ratio, short, time
from gnuplot import NEST, PEERS
from plot import Plot

COMMAND = "nestbench scaling"


def scaling_plots(figures: Figures) -> list[Plot]:
    points: dict[str, list[Row]] = {}
    for row in figures.of("scaling"):
        if "count" in row.raw:
            points.setdefault(row.raw["series"], []).append(row)
    growths = {row.raw["series"]: row for row in figures.of("scaling") if "verdict" in row.raw}
    return [_together(points, growths), _each(points, growths), _memory(points, growths)]


def _together(points: dict[str, list[Row]], growths: dict[str, Row]) -> Plot:
    surprises = [name for name, row in growths.items() if row.raw["verdict"] == "super-linear"]
    verdict = f"Super-linear: {', '.join(surprises)}." if surprises else "Nothing is super-linear."
    plot = Plot(
        "scaling",
        "How the server's work grows",
        "The server's processor time for one operation, as a multiple of that at the smallest size, by the quantity as a "
        "multiple of its smallest size; both axes are logarithmic. The dotted line is linear growth: a line below it grows "
        f"more slowly than the quantity. Lower is better. {verdict if growths else ''}",
        COMMAND,
    )
    if growths:
        names = [name for name in points if len(_positive(points[name])) > 1]
        lines = [
            Line(name, [(row.raw["count"] / base.raw["count"], _work(row) / _work(base)) for row in rows], color)
            for (name, rows, base), color in zip(
                [(name, _positive(points[name]), _positive(points[name])[0]) for name in names],
                charts.line_colors(len(names)),
            )
        ]
        most = max(x for line in lines for x, _ in line.points)
        lines.append(Line("linear", [(1, 1), (most, most)], "", dashed=True))
        plot.charts = [charts.lines(lines, "times the smallest size", "times the work", height=420)]
        plot.head = ["series", "operation", "verdict", "work grows as", "steepest", "from smallest to largest", "memory of one more"]
        plot.table = [
            [
                name, _operation(points[name][0]), row.raw["verdict"],
                f"{row.raw['quantity']}^{row.nest:.2f}", f"^{row.raw['steepest']:.2f}",
                f"×{ratio(row.raw['growth'])} ({short(points[name][0].raw['count'])} to {short(points[name][-1].raw['count'])})",
                amount(row.raw["bytesEach"], "B") if "bytesEach" in row.raw else "",
            ]
            for name, row in growths.items() if name in points
        ]
    return plot


def _each(points: dict[str, list[Row]], growths: dict[str, Row]) -> Plot:
    plot = Plot(
        "scaling-each",
        "Each series",
        "The time of one operation as a client sees it (p50 and p99), and the server's processor time for it (work), by the "
        "quantity that grows; both axes are logarithmic. Lower is better, flat is best.",
        COMMAND,
    )
    for name, rows in points.items():
        positive = _positive(rows)
        if len(positive) < 2:
            continue
        lines = [
            Line("p99", [(row.raw["count"], row.latency["p99"]) for row in positive], PEERS[0]),
            Line("p50", [(row.raw["count"], row.latency["p50"]) for row in positive], NEST),
            Line("work", [(row.raw["count"], _work(row)) for row in positive], PEERS[1]),
        ]
        plot.charts.append(charts.small_lines(name, lines, rows[0].raw["quantity"]))
        plot.table += [
            [
                name, f"{row.raw['count']:,} {row.raw['quantity']}", time(row.latency["p50"]), time(row.latency["p99"]),
                time(_work(row)), amount(row.raw["memoryBytes"], "B"),
            ]
            for row in rows
        ]
    plot.head = ["series", "size", "p50", "p99", "server's work", "memory"]
    return plot


def _memory(points: dict[str, list[Row]], growths: dict[str, Row]) -> Plot:
    plot = Plot(
        "scaling-memory",
        "Memory of the server",
        "The resident memory of nestd in MB, by the quantity that grows; both axes are logarithmic. It includes nestd's memory at "
        "the start, and SQLite's cache of up to 67 MB. Lower is better.",
        COMMAND,
    )
    names = [name for name, row in growths.items() if "bytesEach" in row.raw and len(_positive(points[name])) > 1]
    if names:
        lines = [
            Line(
                name,
                [(row.raw["count"], row.raw["memoryBytes"] / 1e6) for row in _positive(points[name])],
                color,
            )
            for name, color in zip(names, charts.line_colors(len(names)))
        ]
        plot.charts = [charts.lines(lines, "quantity", "MB", height=320)]
        plot.head = ["series", "size", "memory", "one more"]
        plot.table = [
            [
                name, f"{row.raw['count']:,} {row.raw['quantity']}", amount(row.raw["memoryBytes"], "B"),
                amount(growths[name].raw["bytesEach"], "B") if row is points[name][-1] else "",
            ]
            for name in names for row in points[name]
        ]
    return plot


def _positive(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.raw["count"] > 0]


def _work(row: Row) -> float:
    figures = sorted(row.raw["serverMicroseconds"])
    return figures[len(figures) // 2]


def _operation(row: Row) -> str:
    return row.other_name.split(";")[0]
