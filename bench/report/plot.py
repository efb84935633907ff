"""One figure of the report."""

from dataclasses import dataclass, field

from charts import Chart


@dataclass
class Plot:
    """A figure of the page. Without charts, the page shows that the data is missing."""

    name: str
    title: str
    caption: str
    command: str
    charts: list[Chart] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)
