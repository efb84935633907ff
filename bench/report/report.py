#!/usr/bin/env python3
"""Creates a self-contained HTML page, and its plots as SVG and PNG, from the output of the benchmarks.

    bench/report/report.py [--data DIRECTORY] [--out DIRECTORY]
"""

import argparse
import pathlib
from html import escape
from string import Template

import gnuplot
from cluster import cluster
from figures import Figures, load
from peers import main_plot, peer_latency, peer_memory, peer_rates
from plot import Plot
from plots import latency, memory, throughput, times
from scaling import scaling_plots

HERE = pathlib.Path(__file__).resolve().parent


def all_plots(figures: Figures) -> list[Plot]:
    return [
        main_plot(figures), throughput(figures), times(figures), latency(figures), *scaling_plots(figures), memory(figures),
        cluster(figures),
        peer_rates(figures), peer_latency(figures), peer_memory(figures),
    ]


def page(figures: Figures, plots: list[Plot], draw) -> str:
    """Returns the page. `draw` returns the SVG of a chart with a name."""
    template = Template((HERE / "page.html").read_text())
    return template.substitute(
        headers=_headers(figures.headers),
        links=" ".join(f'<a href="#{plot.name}">{escape(plot.title)}</a>' for plot in plots),
        sections="\n".join(_section(plot, draw) for plot in plots),
    )


def _headers(headers: list[dict]) -> str:
    lines = []
    for header in headers:
        facts = [f"<b>{escape(header['file'])}</b>"]
        facts += [escape(str(header[name])) for name in ("date", "machine", "note") if header.get(name)]
        facts += [f"commit <code>{escape(header['commit'])}</code>"] if header.get("commit") else []
        facts += [f"by <code>{escape(header['command'])}</code>"] if header.get("command") else []
        lines.append(f"<li>{'; '.join(facts)}</li>")
    return f'<ul class="quiet">{"".join(lines)}</ul>' if lines else ""


def _section(plot: Plot, draw) -> str:
    head = f'<section id="{plot.name}"><h2>{escape(plot.title)}</h2>'
    command = f"Made by <code>{escape(plot.command)}</code>."
    if not plot.charts:
        return f'{head}<p class="missing">The data has no figures for this plot. {command}</p></section>'
    drawn = "\n".join(_image(plot, index, draw) for index in range(len(plot.charts)))
    kind = "charts" if len(plot.charts) > 1 else "charts single"
    return (
        f'{head}<figure><div class="{kind}">{drawn}</div><figcaption>{escape(plot.caption)} {command}</figcaption></figure>'
        f"<details><summary>The numbers</summary>{_table(plot)}</details></section>"
    )


def _image(plot: Plot, index: int, draw) -> str:
    svg = draw(plot.charts[index], chart_name(plot, index))
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(plot.title)}; the numbers are in the table below" ', 1)


def _table(plot: Plot) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in plot.head)
    rows = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in plot.table)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cell(text: str) -> str:
    # Long text may wrap.
    return f'<td class="long">{escape(text)}</td>' if len(text) > 28 else f"<td>{escape(text)}</td>"


def chart_name(plot: Plot, index: int) -> str:
    return plot.name if len(plot.charts) == 1 else f"{plot.name}-{index + 1}"


def write(figures: Figures, out: pathlib.Path) -> None:
    plots = all_plots(figures)
    directory = out / "plots"
    directory.mkdir(parents=True, exist_ok=True)
    for old in [*directory.glob("*.svg"), *directory.glob("*.png")]:
        old.unlink()

    def draw(chart, name):
        svg = gnuplot.draw(chart.script, chart.width, chart.height, name)
        # The documents show the main plot.
        base = out if name == "main" else directory
        (base / f"{name}.svg").write_text(gnuplot.standalone(svg, chart.width, chart.height))
        (base / f"{name}.png").write_bytes(gnuplot.draw_png(chart.script, chart.width, chart.height))
        return svg

    (out / "index.html").write_text(page(figures, plots, draw))
    missing = [plot.title for plot in plots if not plot.charts]
    print(f"{out / 'index.html'}: {len(plots) - len(missing)} plots of {len(figures.rows)} measurements")
    if missing:
        print(f"no figures for: {', '.join(missing)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=HERE / "data")
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    arguments = parser.parse_args()
    if not gnuplot.is_here():
        raise SystemExit("gnuplot is missing; run: sudo apt-get install -y gnuplot-nox")
    figures = load([*arguments.data.glob("*.jsonl")])
    if not figures.rows:
        raise SystemExit(f"{arguments.data} has no measurements; run bench/report/measure")
    write(figures, arguments.out)


if __name__ == "__main__":
    main()
