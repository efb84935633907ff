"""The plots of workloads and peers: what each shows, what is below it, and from which rows it is made."""

import charts
from charts import Bar, Dot
from figures import MICROSECONDS, Figures, Row, amount, short, time
from gnuplot import NEST, OTHER, PEERS
from plot import Plot


# What of the workloads the first plot shows beside the peers.
MAIN = [("commit", ""), ("fanout", "1000 subscribers"), ("echo", ""), ("subtree", "ten")]
HIGHER, LOWER = "Longer bars are better.", "Shorter bars are better."


def main_plot(figures: Figures) -> Plot:
    chosen = [
        row for workload, part in MAIN for row in figures.of(workload)
        if not row.peer and part in row.parameters and _is_rate(row)
    ]
    rows = [row for row in figures.rows if row.peer and _is_rate(row)] + chosen
    peers = sorted({row.peer for row in rows if row.peer})
    against = _list(["the raw limit", *peers])
    caption = (
        "Operations a second, on a logarithmic scale. The raw limit is a program that does the least the work can be done "
        "with. × is what nest does for each one that the other does, both measured in turn; above 1 nest is faster. "
    ) + HIGHER
    if not peers:
        caption += " The data holds no figures of peers yet: make bench-peers."
    return _bars("main", f"nest against {against}", caption, "make bench; make bench-peers", rows)


def peer_times(figures: Figures) -> Plot:
    rows = [row for row in figures.rows if row.peer and row.is_time]
    caption = f"Times, on a logarithmic scale. × is nest's for the other's; below 1 nest is faster. {LOWER}"
    return _bars("peer-times", "Times beside the peers", caption, "make bench-peers", rows)


def throughput(figures: Figures) -> Plot:
    rows = [row for row in figures.rows if not row.peer and _is_rate(row) and row.other]
    caption = (
        "Each workload's rate and that of its raw limit, a second, on a logarithmic scale. × is nest's for each of the limit's. "
        f"{HIGHER}"
    )
    return _bars("throughput", "Throughput of all workloads", caption, "make bench", rows)


def _bars(name: str, title: str, caption: str, command: str, rows: list[Row]) -> Plot:
    rows = [row for row in rows if row.nest]
    plot = Plot(name, title, caption, command)
    if not rows:
        return plot
    peers = sorted({row.peer for row in rows if row.peer})
    colors = {peer: PEERS[index % len(PEERS)] for index, peer in enumerate(peers)}
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.name, []).append(row)
    drawn = []
    for group, members in groups.items():
        unit = members[0].unit
        bars = [Bar(_size(members[0].nest, unit), f"nest {amount(members[0].nest, unit)}", NEST)]
        for row in members:
            if row.other:
                label = f"{row.other_label} {amount(row.other, row.unit)}   ×{_ratio(row)}"
                bars.append(Bar(_size(row.other, unit), label, colors.get(row.peer, OTHER)))
        drawn.append((group, bars))
    axis = "a second, on a logarithmic scale"
    plot.charts = [charts.bars(drawn, "time, on a logarithmic scale" if rows[0].is_time else axis, rows[0].is_time)]
    plot.head, plot.table = HEAD, [_cells(row) for row in rows]
    return plot


def times(figures: Figures) -> Plot:
    rows = [
        row for row in figures.rows
        if not row.peer and row.is_time and row.ratio and row.nest and row.workload != "scaling"
    ]
    plot = Plot(
        "times",
        "Times against the raw limit",
        "What nest needs for each time that the limit needs, on a logarithmic scale; the line is the limit. The limits differ "
        "from row to row: the table names them. Farther left is better.",
        "make bench",
    )
    if rows:
        groups: dict[str, list[Dot]] = {}
        for row in rows:
            text = f"{row.parameters}: {amount(row.nest, row.unit)} for {amount(row.other, row.unit)}, ×{_ratio(row)}"
            groups.setdefault(row.workload, []).append(Dot(row.ratio, text, NEST if row.ratio > 1 else PEERS[1]))
        plot.charts = [charts.ratios(list(groups.items()), "times the limit")]
        plot.head, plot.table = HEAD, [_cells(row) for row in rows]
    return plot


PERCENTILES = ["p50", "p90", "p99", "p999"]


def latency(figures: Figures) -> Plot:
    rows = [
        row for row in figures.rows
        if row.latency and row.workload != "scaling" and all(row.latency.get(name) for name in PERCENTILES)
    ]
    # Of lists of several lengths the longest stands for all; the table has the others.
    longest = rows[-1].parameters.split(" of ")[-1] if rows else ""
    orders = [row for row in rows if row.workload == "order"]
    if orders:
        longest = orders[-1].parameters.split(" of ")[-1]
    drawn = [row for row in rows if row.workload != "order" or row.parameters.endswith(f" of {longest}")]
    plot = Plot(
        "latency",
        "Latency",
        "From just before a request is written to its answer (of fanout: to the last subscriber). The points of a line are p50, "
        "p90, p99 and p99.9, on a logarithmic scale. Farther left is better, and shorter is steadier.",
        "make bench",
    )
    if drawn:
        entries = [
            (
                f"{row.name}{f' ({row.peer})' if row.peer else ''}:  {time(row.latency['p50'])}, p99 {time(row.latency['p99'])}",
                [row.latency[name] for name in PERCENTILES],
            )
            for row in drawn
        ]
        plot.charts = [charts.spans(entries, "time of a request, on a logarithmic scale")]
        plot.head = ["measurement", "p50", "p90", "p99", "p99.9", "most"]
        plot.table = [[row.name, *(time(row.latency.get(name)) for name in [*PERCENTILES, "max"])] for row in rows]
    return plot


def memory(figures: Figures) -> Plot:
    rows = [row for row in figures.of("results") if row.unit == "B" and row.nest]
    drawn = []
    for row in rows:
        bars = [Bar(row.nest, f"nest {short(row.nest)} B", NEST)]
        if row.other:
            bars.append(Bar(row.other, f"{row.other_name} {short(row.other)} B", OTHER))
        drawn.append((row.parameters, bars))
    table = [[row.parameters, f"{short(row.nest)} B", f"{short(row.other)} B" if row.other else "", row.other_name] for row in rows]
    plot = Plot(
        "memory",
        "Memory of one more",
        f"Bytes that one more row, subscription or connection takes, on a logarithmic scale. {LOWER}",
        "nestbench results memory unconcerned",
    )
    if rows:
        plot.charts = [charts.bars(drawn, "bytes, on a logarithmic scale")]
        plot.head, plot.table = ["one more", "nest", "compared", "with"], table
    return plot


HEAD = ["measurement", "nest", "other", "nest / other", "what the other is"]


def _cells(row: Row) -> list[str]:
    other = ": ".join(text for text in [row.peer, row.other_name] if text)
    notes = f"{other} ({row.notes})" if row.notes else other
    return [row.name, amount(row.nest, row.unit), amount(row.other, row.unit), _ratio(row) if row.ratio else "", notes]


def _ratio(row: Row) -> str:
    return short(row.ratio)


def _size(value: float, unit: str) -> float:
    """Of times in microseconds."""
    return value * MICROSECONDS.get(unit, 1)


def _is_rate(row: Row) -> bool:
    return not row.is_time and row.unit not in ("B", "exponent")


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
