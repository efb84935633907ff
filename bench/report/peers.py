"""The plots that compare nest with its peers, and the main plot."""

import textwrap

import charts
from charts import Bar
from figures import Figures, Row, amount
from gnuplot import NEST
from plot import Plot
from plots import HIGHER, LOWER, PERCENTILES, is_rate, peer_colors, percentile_cells, rates, span

COMMAND = "make bench-peers"
# The measurements of the main plot, in this order.
MAIN = [
    ("notify", "1000 subscribers"), ("fanout", "1000 subscribers"), ("request", "64 connections, depth 16"), ("echo", ""),
    ("load", ""), ("commit", ""),
]


def main_plot(figures: Figures) -> Plot:
    rows = [
        row for workload, part in MAIN for row in figures.of(workload) if row.parameters.startswith(part) or f", {part}" in row.parameters
        if is_rate(row) and row.other
    ]
    peers = list(dict.fromkeys(row.peer.split(" ")[0] for row in rows if row.peer))
    caption = (
        "Deliveries, requests, items or rows per second, on a logarithmic scale. The raw limit is a program that does the minimum "
        "necessary work. × is nest's rate divided by the other's. Both are measured alternately; above 1 nest is "
        f"faster. {HIGHER}"
    )
    if not peers:
        caption += f" The data has no figures of peers; {COMMAND} measures them."
    # This plot is also shown without the page, so it names the machine.
    headers = [[row.header.get(name) for name in ("machine", "date", "note")] for row in rows if "machine" in row.header]
    remarks = dict.fromkeys("; ".join(filter(None, facts)) for facts in headers)
    below = "".join(f"\n{line}" for remark in remarks for line in textwrap.wrap(remark, 58))
    title = f"nest against {_list(['the raw limit', *peers])}"
    return rates("main", title, caption, f"make bench, {COMMAND}", rows, figures, below)


def peer_rates(figures: Figures) -> Plot:
    rows = [row for row in figures.rows if row.peer and is_rate(row)]
    left_out = list(dict.fromkeys(text for row in rows for text in row.raw.get("leftOut", [])))
    caption = (
        "All rates that nestpeers measures, per second, on a logarithmic scale. The table has the durability of each peer and what "
        f"it does not do. × is nest's rate divided by the peer's. {HIGHER}"
    )
    if left_out:
        caption += f" Left out: {'; '.join(left_out)}."
    return rates("peers", "All rates, compared with the peers", caption, COMMAND, rows, figures)


def peer_latency(figures: Figures) -> Plot:
    """Latency of measurements with one request at a time: other times cannot be compared."""
    plot = Plot(
        "peer-latency",
        "Latency, compared with the peers",
        "One request at a time on a connection; for notify, the time to the last subscriber. The points of a line are p50, p90, p99 "
        "and p99.9, on a logarithmic scale. Farther left is better; a shorter line is steadier.",
        COMMAND,
    )
    colors = peer_colors(figures)
    entries = []
    for name, members in _groups(row for row in figures.rows if row.raw.get("latencyRatio")):
        sides = [("nest", members[0].latency, NEST)]
        sides += [(row.peer, row.peer_latency, colors[row.peer]) for row in members]
        for side, percentiles, color in sides:
            if all(map(percentiles.get, PERCENTILES)):
                entries.append(span(f"{name}, {side}", percentiles, color))
                plot.table.append([name, side, *percentile_cells(percentiles)])
    if entries:
        plot.charts = [charts.spans(entries, "time, on a logarithmic scale")]
        plot.head = ["measurement", "server", "p50", "p90", "p99", "p99.9", "max"]
    return plot


def peer_memory(figures: Figures) -> Plot:
    plot = Plot(
        "peer-memory",
        "Memory, compared with the peers",
        f"The peak resident memory of each server, with all its processes, on a logarithmic scale. {LOWER}",
        COMMAND,
    )
    colors = peer_colors(figures)
    drawn = []
    for name, members in _groups(row for row in figures.rows if row.peer and "memoryBytes" in row.raw):
        sides = [("nest", _memory(members[0], "nest"), NEST)]
        sides += [(row.peer, _memory(row, "peer"), colors[row.peer]) for row in members]
        known = [(side, size, color) for side, size, color in sides if size]
        drawn.append((name, [Bar(size, f"{side}: {amount(size, 'B')}", color) for side, size, color in known]))
        plot.table += [[name, side, amount(size, "B")] for side, size, _ in known]
    # The largest of each kind. The table has all of them.
    chosen = [group for group in drawn if group[0].startswith(("notify: 1000 ", "load: "))] or drawn
    if chosen:
        plot.charts = [charts.bars(chosen, "bytes, on a logarithmic scale")]
        plot.head = ["measurement", "server", "memory"]
    return plot


def _memory(row: Row, side: str) -> float | None:
    figures = sorted(row.raw["memoryBytes"].get(side) or [])
    return figures[len(figures) // 2] if figures else None


def _groups(rows) -> list[tuple[str, list[Row]]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.name, []).append(row)
    return list(groups.items())


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
