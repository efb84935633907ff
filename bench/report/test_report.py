"""Tests the report with invented figures: it has every plot, loads no external resources, and invents no figures.

Without gnuplot, empty pictures replace the plots. Run: python3 -m unittest discover -s bench/report
"""

import pathlib
import re
import tempfile
import unittest

import gnuplot
import report
from figures import amount, load, ratio, short, time

FIXTURE = pathlib.Path(__file__).resolve().parent / "fixture.jsonl"
PLOTS = [
    "main", "throughput", "times", "latency", "scaling", "scaling-each", "scaling-memory", "memory", "cluster", "peers",
    "peer-latency", "peer-memory",
]


def no_picture(chart, name: str) -> str:
    return f'<svg viewBox="0 0 {chart.width} {chart.height}"><text>{name}</text></svg>'


class ReportTests(unittest.TestCase):
    def setUp(self):
        self.figures = load([FIXTURE])
        self.plots = report.all_plots(self.figures)
        self.page = report.page(self.figures, self.plots, no_picture)

    def test_every_plot_has_charts_and_a_table(self):
        self.assertEqual([plot.name for plot in self.plots], PLOTS)
        for plot in self.plots:
            self.assertTrue(plot.charts and plot.table and plot.caption and plot.command, plot.name)
            self.assertTrue(all(len(row) == len(plot.head) for row in plot.table), plot.name)
            section = re.search(rf'<section id="{plot.name}">.*?</section>', self.page, re.S).group()
            self.assertEqual(section.count("<svg"), len(plot.charts), plot.name)
            self.assertEqual(section.count("<tr>"), len(plot.table) + 1, plot.name)

    def test_the_page_loads_no_external_resources(self):
        self.assert_self_contained(self.page)

    def assert_self_contained(self, page: str):
        self.assertNotIn("<script", page)
        self.assertNotIn("@import", page)
        self.assertNotIn("url(http", page)
        addresses = re.findall(r"(?:src|href)\s*=\s*[\"']?([^\"' >]+)", page)
        self.assertEqual([address for address in addresses if not address.startswith("#")], [])

    def test_plots_without_figures_are_reported_as_missing(self):
        figures = load([])
        plots = report.all_plots(figures)
        page = report.page(figures, plots, no_picture)
        self.assertEqual([plot.name for plot in plots], PLOTS)
        self.assertEqual(page.count('class="missing"'), len(PLOTS))
        self.assertNotIn("<svg", page)

    def test_the_page_has_headers_and_notes_of_peers(self):
        for text in ["an invented machine", "0123abc", "keeps no order", "super-linear: grown", "2031-01-01", "etcd 3.4: not tried"]:
            self.assertIn(text.lower(), self.page.lower())

    def test_bars_show_medians_and_ratios(self):
        script = self.plots[0].charts[0].script
        for label in ["1 x 1 in flight (rows/s)", "nest: 2 k", "limit: 4 k   ×0.50", "Redis 7.0: 60.4 k   ×1.37", "an invented machine; 2031"]:
            self.assertIn(label, script)

    def test_descriptions_have_the_hardware_of_both_sides(self):
        row = next(row for row in self.figures.of("fanout") if not row.peer)
        self.assertEqual(
            row.other_name,
            "a server in C; deliveries a second; "
            "hardware: nest processor 0.91, clients 0.83; limit processor 0.62, clients 0.95, disk 0.12",
        )
        self.assertIn(row.other_name, self.page)
        echo = self.figures.of("echo")[0]
        self.assertEqual(echo.other_name, "an echo in C")

    def test_figures_have_three_digits(self):
        self.assertEqual([short(value) for value in [0.4567, 12.345, 999.96, 1234567]], ["0.46", "12.3", "1.00 k", "1.23 M"])
        self.assertEqual([time(value) for value in [0.5, 999.96, 12345, 6.3e6]], ["0.50 µs", "1.00 ms", "12.3 ms", "6.30 s"])
        self.assertEqual([ratio(value) for value in [0.123, 58.2, 1970.4]], ["0.12", "58.2", "1,970"])
        self.assertEqual(amount(5362, "B"), "5.36 kB")
        self.assertEqual(amount(1.5, "s"), "1.50 s")
        self.assertEqual(amount(12345, "rows/s"), "12.3 k rows/s")

    @unittest.skipUnless(gnuplot.is_here(), "gnuplot is missing")
    def test_gnuplot_draws_every_chart(self):
        with tempfile.TemporaryDirectory() as directory:
            out = pathlib.Path(directory)
            report.write(self.figures, out)
            names = [report.chart_name(plot, index) for plot in self.plots for index in range(len(plot.charts))]
            files = {path.stem for path in [*out.glob("*.svg"), *out.glob("plots/*.svg")]}
            self.assertEqual(files, set(names))
            for name in names:
                base = out if name == "main" else out / "plots"
                self.assertTrue((base / f"{name}.png").read_bytes().startswith(b"\x89PNG"), name)
            self.assert_self_contained((out / "index.html").read_text())


if __name__ == "__main__":
    unittest.main()
