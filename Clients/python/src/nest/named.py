"""Requests that a model names: fetched properties and fetch request templates of Core Data, with variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import NestError

#: The variable that stands for the object of a fetched property.
SOURCE = "FETCH_SOURCE"
#: A quoted text, the beginning of a SUBQUERY with its variable, or a variable with a path.
_PARTS = re.compile(
    r"""(?P<quoted>"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)"""
    r"""|(?<!\w)(?P<own>SUBQUERY\s*\([^,"']*,\s*\$(?P<variable>[^\W\d]\w*))"""
    r"""|\$(?P<name>[^\W\d]\w*)(?P<path>(?:\.[^\W\d]\w*)*)""",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class NamedRequest:
    """A request of the model. `source`: the entity of `$FETCH_SOURCE`, if it has one."""

    name: str
    source: int | None
    entity: int
    predicate: str
    sort: str

    def _variables(self) -> Iterator[re.Match[str]]:
        own = {found["variable"] for found in _PARTS.finditer(self.predicate) if found["own"]}
        return (found for found in _PARTS.finditer(self.predicate) if found["name"] and found["name"] not in own)

    def paths(self) -> list[str]:
        """The paths from the source whose values the predicate needs, each once."""
        found = (one["path"][1:] for one in self._variables() if one["name"] == SOURCE and one["path"])
        return list(dict.fromkeys(found))

    def bound(self, source: Any, values: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
        """The predicate with values in the places of the variables. `values`: those of `paths`."""
        # Here, because models have requests, and predicates need models.
        from .predicates import quote

        parts = []
        end = 0
        for found in self._variables():
            name, path = found["name"], found["path"]
            parts.append(self.predicate[end : found.start()])
            end = found.end()
            if name == SOURCE and source is not None:
                parts.append(quote(values[path[1:]]) if path else str(source))
            elif name in variables and not path:
                parts.append(quote(variables[name]))
            else:
                raise NestError("INVALID", f"the request {self.name} needs a value for ${name}")
        return "".join(parts) + self.predicate[end:]
