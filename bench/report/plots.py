"""The plots of nestbench's workloads: their charts, captions and tables, and the rows that they use."""

import charts
from charts import Bar, Dot, Span
from figures import Figures, Row, amount, ratio, short, time
from gnuplot import NEST, OTHER, PEERS
from plot import Plot

# Workloads that have plots of their own.
OWN_PLOTS = ("scaling", "cluster")
HIGHER, LOWER = "Longer bars are better.", "Shorter bars are better."
PERCENTILES = ["p50", "p90", "p99", "p999"]
HEAD = ["measurement", "nest", "other", "nest / other", "description of the other"]


def throughput(figures: Figures) -> Plot:
    rows = [row for row in figures.rows if not row.peer and is_rate(row) and row.other and row.workload != "cluster"]
    caption = (
        "The rate of each workload and of its raw limit, per second, on a logarithmic scale. × is nest's rate divided by the "
        f"limit's. {HIGHER}"
    )
    return rates("throughput", "Throughput of all workloads", caption, "make bench", rows, figures)


def rates(name: str, title: str, caption: str, command: str, rows: list[Row], figures: Figures, below: str = "") -> Plot:
    """Bars of each measurement: nest, then the others. `below`: lines below the axis."""
    plot = Plot(name, title, caption, command)
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.nest:
            groups.setdefault(row.name, []).append(row)
    if groups:
        colors = peer_colors(figures)
        drawn = [(f"{group} ({_unit(members[0])})", _bars(members, colors)) for group, members in groups.items()]
        plot.charts = [charts.bars(drawn, f"per second, on a logarithmic scale{below}")]
        plot.head, plot.table = HEAD, [cells(row) for members in groups.values() for row in members]
    return plot


def _unit(row: Row) -> str:
    return "per second" if row.unit == "/s" else row.unit


def _bars(members: list[Row], colors: dict[str, str]) -> list[Bar]:
    bars = [Bar(members[0].nest, f"nest: {short(members[0].nest)}", NEST)]
    for row in members:
        if row.other:
            label = f"{row.other_label}: {short(row.other)}   ×{ratio(row.ratio)}"
            bars.append(Bar(row.other, label, colors.get(row.peer, OTHER)))
    return bars


def times(figures: Figures) -> Plot:
    rows = [
        row for row in figures.rows
        if not row.peer and row.is_time and row.ratio and row.nest and row.workload not in OWN_PLOTS
    ]
    plot = Plot(
        "times",
        "Times against the raw limit",
        "nest's time divided by the limit's, on a logarithmic scale; the line is the limit. Each row has its own limit, which "
        "the table describes. Farther left is better.",
        "make bench",
    )
    groups: dict[str, list[Dot]] = {}
    for row in rows:
        text = f"{row.parameters}: {amount(row.nest, row.unit)} for {amount(row.other, row.unit)}, ×{ratio(row.ratio)}"
        groups.setdefault(row.workload, []).append(Dot(row.ratio, text, NEST if row.ratio > 1 else PEERS[1]))
    if groups:
        plot.charts = [charts.ratios(list(groups.items()), "times the limit")]
        plot.head, plot.table = HEAD, [cells(row) for row in rows]
    return plot


def latency(figures: Figures) -> Plot:
    rows = [
        row for row in figures.rows if not row.peer and row.workload not in OWN_PLOTS and all(map(row.latency.get, PERCENTILES))
    ]
    # The chart has only the longest list. The table has all of them.
    longest = next((row.parameters.split(" of ")[-1] for row in reversed(rows) if row.workload == "order"), "")
    drawn = [row for row in rows if row.workload != "order" or row.parameters.endswith(f" of {longest}")]
    plot = Plot(
        "latency",
        "Latency",
        "From just before a request is written to its reply (for fanout: to the last subscriber). The points of a line are p50, "
        "p90, p99 and p99.9, on a logarithmic scale. Farther left is better; a shorter line is steadier.",
        "make bench",
    )
    if drawn:
        plot.charts = [charts.spans([span(row.name, row.latency) for row in drawn], "time, on a logarithmic scale")]
        plot.head = ["measurement", "p50", "p90", "p99", "p99.9", "max"]
        plot.table = [[row.name, *percentile_cells(row.latency)] for row in rows]
    return plot


def memory(figures: Figures) -> Plot:
    rows = [row for row in figures.of("results") if row.unit == "B" and row.nest]
    drawn = []
    for row in rows:
        bars = [Bar(row.nest, f"nest: {amount(row.nest, 'B')}", NEST)]
        if row.other:
            bars.append(Bar(row.other, f"{row.other_name}: {amount(row.other, 'B')}", OTHER))
        drawn.append((row.parameters, bars))
    plot = Plot(
        "memory",
        "Memory of one more row, subscription or connection",
        f"Bytes of one more row, subscription or connection, on a logarithmic scale. {LOWER}",
        "nestbench results memory unconcerned",
    )
    if drawn:
        plot.charts = [charts.bars(drawn, "bytes, on a logarithmic scale")]
        plot.head = ["one more", "nest", "compared", "with"]
        plot.table = [[row.parameters, amount(row.nest, "B"), amount(row.other, "B"), row.other_name] for row in rows]
    return plot


# Shared with the plots of the peers.


def cells(row: Row) -> list[str]:
    other = ": ".join(text for text in [row.peer, row.other_name] if text)
    return [row.name, amount(row.nest, row.unit), amount(row.other, row.unit), ratio(row.ratio), other]


def span(name: str, figures: dict, color: str = NEST) -> Span:
    text = f"{name}:  {time(figures['p50'])}, p99 {time(figures['p99'])}"
    return Span(text, [figures[percentile] for percentile in PERCENTILES], color)


def percentile_cells(figures: dict) -> list[str]:
    return [time(figures.get(name)) for name in [*PERCENTILES, "max"]]


def peer_colors(figures: Figures) -> dict[str, str]:
    return {peer: PEERS[index % len(PEERS)] for index, peer in enumerate(figures.peers)}


def is_rate(row: Row) -> bool:
    return not row.is_time and row.unit not in ("B", "exponent")
