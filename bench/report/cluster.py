"""The plot of `nestbench cluster`: what one, two and three nodes do, and all its measurements as a table."""

import re

import charts
from charts import Line
from figures import Figures, amount, ratio
from gnuplot import NEST, PEERS
from plot import Plot

PARAMETERS = re.compile(r"(?P<what>\w+) a CPU second, (?P<nodes>\d+) nodes?")


def cluster(figures: Figures) -> Plot:
    plot = Plot(
        "cluster",
        "One, two and three nodes",
        "Deliveries and commits of a second of processor time of the busiest node, as a multiple of one node's. All nodes share "
        "one machine: processor time stands for machines of their own. The dotted line is what more machines can give at most. "
        "Deliveries grow with the nodes; commits do not, because one node executes them. Higher is better.",
        "nestbench cluster",
    )
    points: dict[str, list[tuple[float, float]]] = {}
    for row in figures.of("cluster"):
        match = PARAMETERS.fullmatch(row.parameters)
        if match and row.ratio:
            points.setdefault(match["what"], []).append((int(match["nodes"]), row.ratio))
    if points:
        colors = {"deliveries": NEST, "commits": PEERS[0]}
        lines = [Line(what, sorted(line), colors.get(what, PEERS[1])) for what, line in points.items()]
        most = max(x for line in lines for x, _ in line.points)
        lines.append(Line("linear", [(1, 1), (most, most)], "", dashed=True))
        plot.charts = [charts.lines(lines, "nodes", "times one node", height=320)]
        plot.head = ["measurement", "nest", "compared", "ratio", "with"]
        plot.table = [
            [row.parameters, amount(row.nest, row.unit), amount(row.other, row.unit), ratio(row.ratio), row.other_name]
            for row in figures.of("cluster")
        ]
    return plot
