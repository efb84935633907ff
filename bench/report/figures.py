"""Reads files with the lines that `nestbench --json` and `nestpeers --json` print."""

import json
import pathlib
from dataclasses import dataclass, field
from statistics import median

MICROSECONDS = {"us": 1, "ms": 1e3, "s": 1e6}


@dataclass
class Row:
    """One measurement. `peer` is empty if nest is compared with the raw limit, or with nothing."""

    workload: str
    parameters: str
    unit: str
    nest: float | None
    other: float | None
    # A description of the raw limit; for a peer, its durability and what it does not do.
    other_name: str
    ratio: float | None
    peer: str
    # Microseconds by percentile, of nest and of the peer.
    latency: dict
    peer_latency: dict
    is_time: bool
    # The header of the row's file.
    header: dict
    raw: dict

    @property
    def name(self) -> str:
        return f"{self.workload}: {self.parameters}"

    @property
    def other_label(self) -> str:
        return self.peer or "limit"


@dataclass
class Figures:
    """The contents of all files. A header is a line without a workload: machine, date, commit and an optional note."""

    headers: list[dict] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    @property
    def peers(self) -> list[str]:
        """The peers, in the order of their measurement."""
        return list(dict.fromkeys(row.peer for row in self.rows if row.peer))

    def of(self, *workloads: str) -> list[Row]:
        return [row for row in self.rows if row.workload in workloads]


def load(paths: list[pathlib.Path]) -> Figures:
    figures = Figures()
    for path in sorted(paths):
        header = {"note": "machine and date are unknown"}
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip():
                continue
            try:
                fields = json.loads(line)
            except ValueError as error:
                raise SystemExit(f"{path}:{number}: {error}")
            if "workload" in fields:
                figures.rows.append(_row(fields, header))
            else:
                header = fields
        figures.headers.append(header | {"file": path.name})
    return figures


def _row(fields: dict, header: dict) -> Row:
    unit = fields.get("unit", "")
    row = Row(
        workload=fields["workload"],
        parameters=fields.get("parameters", ""),
        unit=unit,
        nest=_figure(fields.get("nest")),
        other=_figure(fields.get("limit")),
        other_name="; ".join(text for text in [fields.get("limitName", ""), _hardware(fields)] if text),
        ratio=fields.get("ratio"),
        peer="",
        latency=fields.get("latencyMicroseconds") or {},
        peer_latency={},
        is_time=fields.get("isTime", unit in MICROSECONDS),
        header=header,
        raw=fields,
    )
    if "peerName" in fields:
        row.peer, row.other = fields["peerName"], _figure(fields.get("peer"))
        row.latency, row.peer_latency = (row.latency.get(side) or {} for side in ("nest", "peer"))
        terms = ((fields.get(name) or {}).get("peer") for name in ("durability", "notes"))
        less = fields.get("less") and f"does less: {fields['less']}"
        row.other_name = "; ".join(text for text in [*terms, less] if text)
    if row.ratio is None and row.nest and row.other:
        row.ratio = row.nest / row.other
    return row


def _hardware(fields: dict) -> str:
    """Returns what nest and the limit used of the hardware, as shares of 1."""
    sides = [(side, fields.get(f"{side}Use")) for side in ("nest", "limit")]
    texts = [f"{side} {', '.join(f'{name} {share:.2f}' for name, share in use.items())}" for side, use in sides if use]
    return f"hardware: {'; '.join(texts)}" if texts else ""


def _figure(value) -> float | None:
    """Returns one figure, or the median of the rounds' figures."""
    if isinstance(value, list):
        value = median(value) if value else None
    return None if value is None else float(value)


def short(value: float | None) -> str:
    """Returns a number with three digits, and k, M or G for large ones."""
    if value is None:
        return ""
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor * 0.9995:
            return f"{_digits(value / factor)} {letter}"
    return _digits(value)


def _digits(value: float) -> str:
    if value == int(value) and abs(value) < 1000:
        return str(int(value))
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def ratio(value: float | None) -> str:
    return short(value) if value is None or abs(value) < 999.5 else f"{value:,.0f}"


def time(microseconds: float | None) -> str:
    """Returns a time in a suitable unit."""
    if microseconds is None:
        return ""
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= factor * 0.9995:
            return f"{_digits(microseconds / factor)} {unit}"
    return f"{_digits(microseconds)} µs"


def amount(value: float | None, unit: str) -> str:
    """Returns a figure with its unit."""
    if value is None:
        return ""
    if unit in MICROSECONDS:
        return time(value * MICROSECONDS[unit])
    text = short(value)
    joins = unit.startswith("/") or unit == "B" and not text[-1].isdigit()
    return text + (unit if joins else f" {unit}").rstrip()
