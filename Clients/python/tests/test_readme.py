"""Runs the programs of README.md: its python blocks, from top to bottom, are one program against a new server.

A comment `# → text` is a line that the program must print.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import pathlib
import re
import unittest
from typing import Any

from .server import MISSING, Server

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


@unittest.skipIf(MISSING, MISSING)
class Readme(unittest.IsolatedAsyncioTestCase):
    async def test_the_programs_print_what_the_page_says(self) -> None:
        server = Server()
        self.addCleanup(server.close)
        self.assertGreater(len(blocks()), 5)
        names: dict[str, Any] = {}
        for block in blocks():
            with self.subTest(block):
                output = io.StringIO()
                source = block.replace("127.0.0.1:7000", server.address)
                code = compile(source, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                with contextlib.redirect_stdout(output):
                    result = eval(code, names)
                    if inspect.isawaitable(result):
                        await result
                self.assertEqual(output.getvalue().splitlines(), re.findall(r"# → (.*)$", block, re.MULTILINE))

    def test_prose_is_at_most_120_columns_wide(self) -> None:
        for line in README.read_text().splitlines():
            if not line.startswith("|"):
                self.assertLessEqual(len(line), 120, line)


if __name__ == "__main__":
    unittest.main()
