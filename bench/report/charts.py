"""The kinds of charts: bars, ratios, spans and lines. A chart is a gnuplot script with its size."""

import math
from dataclasses import dataclass

from gnuplot import FAINT, INK, LINES, NEST, quoted

WIDTH = 520
SMALL_WIDTH = 300
COMMON = f"""
set encoding utf8
set border 0
set tics nomirror scale 0 textcolor rgb "{INK}"
set grid xtics lt 1 lc rgb "{FAINT}" lw 0.3
unset key
unset ytics
set lmargin 1
set rmargin 3
set tmargin 0.5
"""


@dataclass
class Chart:
    script: str
    width: int
    height: int


@dataclass
class Bar:
    value: float
    label: str
    color: str


def bars(groups: list[tuple[str, list[Bar]]], axis: str, is_time: bool = False) -> Chart:
    """Horizontal bars on a logarithmic axis, with a name above each group and a label after each bar."""
    boxes, names, y = [], [], 0.0
    values = [bar.value for _, group in groups for bar in group if bar.value > 0]
    low = 10 ** math.floor(math.log10(min(values)) - 0.2)
    for name, group in groups:
        names.append(f"{low * 1.001} {y} {quoted(name)}")
        y += 1
        for bar in group:
            boxes.append((low, y, max(bar.value, low * 1.02), bar))
            y += 1
        y += 0.45
    # Room for the label after the longest bar.
    decades = math.log10(max(values) / low)
    high = max(values) * 10 ** (decades * 0.85)
    data = [f"{low} {top} {low} {value} {top - 0.42} {top + 0.42} {_rgb(bar.color)}" for low, top, value, bar in boxes]
    labels = [f"{value} {top} {quoted(bar.label)}" for _, top, value, bar in boxes]
    script = f"""{COMMON}
set logscale x
set xrange [{low}:{high}]
set yrange [{y - 0.4}:-0.7]
set xtics ({_time_tics(low, max(values)) if is_time else _decades(low, max(values))})
set xlabel {quoted(axis)} textcolor rgb "{INK}"
{_block("boxes", data)}
{_block("labels", labels)}
{_block("names", names)}
plot $boxes using 1:2:3:4:5:6:7 with boxxyerror fill solid 1 noborder lc rgb variable, \\
  $labels using 1:2:3 with labels left offset 0.6,0 textcolor rgb "{INK}", \\
  $names using 1:2:3 with labels left offset 0,-0.1 textcolor rgb "{INK}"
"""
    return Chart(script, WIDTH, int(19 * (y + 0.5)) + 60 + 16 * axis.count("\n"))


@dataclass
class Dot:
    value: float
    label: str
    color: str


def ratios(groups: list[tuple[str, list[Dot]]], axis: str) -> Chart:
    """A dot for each ratio on a logarithmic axis with a line at 1, and a label above each dot."""
    dots, stems, labels, names, y = [], [], [], [], 0.0
    values = [dot.value for _, group in groups for dot in group if dot.value > 0] + [1.0]
    low, high = min(values) / 1.6, max(values) * 1.6
    for name, group in groups:
        names.append(f"{low * 1.001} {y} {quoted(name)}")
        y += 1.15
        for dot in group:
            labels.append(f"{low * 1.001} {y} {quoted('  ' + dot.label)}")
            stems.append(f"1 {y + 0.9} {dot.value - 1} 0 {_rgb(dot.color)}")
            dots.append(f"{dot.value} {y + 0.9} {_rgb(dot.color)}")
            y += 1.75
        y += 0.4
    script = f"""{COMMON}
set logscale x
set xrange [{low}:{high}]
set yrange [{y - 0.2}:-0.7]
set xtics ({_ratio_tics(low, high)})
set xlabel {quoted(axis)} textcolor rgb "{INK}"
set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb "{INK}" lw 1
{_block("dots", dots)}
{_block("stems", stems)}
{_block("labels", labels)}
{_block("names", names)}
plot $stems using 1:2:3:4:5 with vectors nohead lw 3 lc rgb variable, \\
  $dots using 1:2:3 with points pt 7 ps 0.8 lc rgb variable, \\
  $labels using 1:2:3 with labels left textcolor rgb "{INK}", \\
  $names using 1:2:3 with labels left textcolor rgb "{INK}"
"""
    return Chart(script, WIDTH, int(15 * (y + 0.7)) + 60)


@dataclass
class Span:
    name: str
    figures: list[float]
    color: str = NEST


def spans(entries: list[Span], axis: str) -> Chart:
    """For each entry a line from its first figure to its last on a logarithmic axis, with a point for each figure."""
    lines, points, names, y = [], [], [], 0.0
    values = [value for span in entries for value in span.figures]
    low, high = 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))
    for span in entries:
        names.append(f"{low * 1.001} {y} {quoted(span.name)}")
        first, last, color = span.figures[0], span.figures[-1], _rgb(span.color)
        lines.append(f"{first} {y + 0.85} {last - first} 0 {color}")
        sizes = [1.1] + [0.8] * (len(span.figures) - 2) + [0.45]
        points += [f"{value} {y + 0.85} {size} {color}" for value, size in zip(span.figures, sizes)]
        y += 1.9
    script = f"""{COMMON}
set logscale x
set xrange [{low}:{high}]
set yrange [{y}:-0.8]
set xtics ({_time_tics(low, high)})
set xlabel {quoted(axis)} textcolor rgb "{INK}"
{_block("lines", lines)}
{_block("points", points)}
{_block("names", names)}
plot $lines using 1:2:3:4:5 with vectors nohead lw 2 lc rgb variable, \\
  $points using 1:2:3:4 with points pt 7 ps variable lc rgb variable, \\
  $names using 1:2:3 with labels left textcolor rgb "{INK}"
"""
    return Chart(script, WIDTH, int(15 * (y + 0.8)) + 60)


@dataclass
class Line:
    name: str
    points: list[tuple[float, float]]
    color: str
    dashed: bool = False


def lines(series: list[Line], x_axis: str, y_axis: str, height: int = 380) -> Chart:
    """Lines over two logarithmic axes, with their names below."""
    # As many names side by side as fit.
    columns = max(1, WIDTH // (8 * max(len(line.name) for line in series) + 60))
    rows = math.ceil(len(series) / columns)
    low, high = _decades_around([y for line in series if not line.dashed for _, y in line.points])
    key = f'set bmargin {4.4 + 1.2 * rows}\nset key bmargin center horizontal maxrows {rows} textcolor rgb "{INK}" samplen 1.5 spacing 1.1'
    script = _axes(series, (low, high), _decades(low, high), x_axis) + f"""
set ylabel {quoted(y_axis)} textcolor rgb "{INK}" offset 1,0
{key}
{_lines(series)}
"""
    return Chart(script, WIDTH, height + 19 * rows)


def small_lines(title: str, series: list[Line], x_axis: str) -> Chart:
    """A small chart of times, shown next to others. The names of its lines fit into one row."""
    low, high = _decades_around([y for line in series for _, y in line.points])
    script = _axes(series, (low, high), _time_tics(low, high), x_axis) + f"""
set tmargin 2
set title {quoted(title)} textcolor rgb "{INK}" offset 0,-0.4
set bmargin 5
set key bmargin center horizontal maxrows 1 textcolor rgb "{INK}" samplen 1 width -1
{_lines(series)}
"""
    return Chart(script, SMALL_WIDTH, 250)


def _axes(series: list[Line], y_range: tuple[float, float], y_tics: str, x_axis: str) -> str:
    xs = [x for line in series for x, _ in line.points]
    return f"""{COMMON}
set logscale xy
set xrange [{min(xs) * 0.85}:{max(xs) * 1.2}]
set yrange [{y_range[0] * 0.8}:{y_range[1] * 1.25}]
set xtics ({_count_tics(xs)})
set ytics nomirror scale 0 ({y_tics})
set grid xtics ytics lt 1 lc rgb "{FAINT}" lw 0.3
set lmargin 8
set xlabel {quoted(x_axis)} textcolor rgb "{INK}" offset 0,0.3
"""


def _lines(series: list[Line]) -> str:
    blocks, plots = [], []
    for index, line in enumerate(series):
        blocks.append(_block(f"line{index}", [f"{x} {y}" for x, y in line.points]))
        style = f'with lines dt 3 lw 1.2 lc rgb "{INK}"' if line.dashed else (
            f'with linespoints pt {7 if index % 2 == 0 else 5} ps 0.6 lw 1.8 lc rgb "{line.color}"'
        )
        plots.append(f"$line{index} using 1:2 {style} title {quoted(line.name)}")
    return "\n".join([*blocks, f"plot {', '.join(plots)}"])


def _decades_around(values: list[float]) -> tuple[float, float]:
    low, high = 10 ** math.floor(math.log10(min(values)) + 0.05), 10 ** math.ceil(math.log10(max(values)) - 0.05)
    return (low, high) if high > low else (low / 10, high * 10)


def line_colors(count: int) -> list[str]:
    return [LINES[index % len(LINES)] for index in range(count)]


def _block(name: str, rows: list[str]) -> str:
    return "\n".join([f"${name} << EOD", *rows, "EOD"])


def _rgb(color: str) -> int:
    return int(color[1:], 16)


def _decades(low: float, high: float) -> str:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return ", ".join(f'"{_decade(exponent)}" {10.0 ** exponent!r}' for exponent in range(first, last + 1))


def _count_tics(counts: list[float]) -> str:
    """Decades; within one decade each count."""
    if max(counts) < 10 * min(counts):
        return ", ".join(f'"{count:g}" {count!r}' for count in sorted(set(counts)))
    return _decades(10 ** math.floor(math.log10(min(counts))), max(counts))


def _decade(exponent: int) -> str:
    if exponent < 0:
        return f"{10.0 ** exponent:g}"
    return f"{10 ** (exponent % 3)}{['', 'k', 'M', 'G', 'T'][exponent // 3]}"


def _time_tics(low: float, high: float) -> str:
    names = {-1: "0.1 µs", 0: "1 µs", 1: "10 µs", 2: "100 µs", 3: "1 ms", 4: "10 ms", 5: "0.1 s", 6: "1 s", 7: "10 s", 8: "100 s"}
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return ", ".join(f'"{names.get(exponent, f"1e{exponent} µs")}" {10.0 ** exponent!r}' for exponent in range(first, last + 1))


def _ratio_tics(low: float, high: float) -> str:
    tics = [tic * 10.0**exponent for exponent in range(-4, 5) for tic in (1, 2, 5)]
    shown = [tic for tic in tics if low <= tic <= high]
    if len(shown) > 9:
        shown = [tic for tic in shown if math.log10(tic) == round(math.log10(tic))]
    return ", ".join(f'"{tic:g}" {tic!r}' for tic in shown)
