"""A model with every type of value and every kind of relationship."""

from __future__ import annotations

from .server import Server

MODEL = {
    "format": "nest-model",
    "entities": [
        {
            "name": "Thing",
            "label": "title",
            "attributes": [
                {"name": "title", "type": "string"},
                {"name": "done", "type": "boolean", "default": False},
                {"name": "count", "type": "integer", "optional": True},
                {"name": "weight", "type": "double", "optional": True},
                {"name": "price", "type": "decimal", "optional": True},
                {"name": "due", "type": "date", "optional": True},
                {"name": "code", "type": "uuid", "optional": True},
                {"name": "photo", "type": "data", "optional": True},
            ],
            "relationships": [
                {
                    "name": "children",
                    "destination": "Thing",
                    "inverse": "parent",
                    "toMany": True,
                    "ordered": True,
                    "deleteRule": "cascade",
                },
                {"name": "parent", "destination": "Thing", "inverse": "children"},
                {"name": "tags", "destination": "Tag", "inverse": "things", "toMany": True},
            ],
            "root": {"relationship": "parent", "object": 1},
        },
        {
            "name": "Tag",
            "attributes": [{"name": "name", "type": "string", "minimum": 1}],
            "relationships": [
                {"name": "things", "destination": "Thing", "inverse": "tags", "toMany": True, "ordered": True}
            ],
        },
    ],
}


def modelled() -> Server:
    """A server with this model."""
    return Server(model=MODEL)
