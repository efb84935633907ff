"""The types that `nestc model generate python` writes: mypy checks them and a program with them, which also runs."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import nest

from . import types_model, types_use
from .server import MISSING, Server

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODEL = ROOT.parents[1] / "Examples/phone-book/model.json"


class Types(unittest.IsolatedAsyncioTestCase):
    @unittest.skipUnless(shutil.which("mypy"), "mypy is missing (Debian: mypy)")
    def test_mypy_finds_no_mistake_but_those_that_are_marked(self) -> None:
        files = [f"tests/{name}.py" for name in ("types_model", "phone_book_model", "types_use")]
        result = subprocess.run(
            ["mypy", "--config-file", "pyproject.toml", *files],
            cwd=ROOT,
            env={"PATH": str(pathlib.Path(str(shutil.which("mypy"))).parent), "MYPYPATH": "src"},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_members_are_renamed_where_python_has_the_name(self) -> None:
        everything = types_model.Everything
        names = [field.name for field in dataclasses.fields(everything)]
        self.assertEqual(len(names), 1 + len(everything.columns))
        self.assertIn("class_", names)
        self.assertEqual([name for name in names if "self" in name], ["self__", "self_"])
        self.assertIn("class", everything.Values.__annotations__)

    def test_the_lines_of_the_page_are_those_of_the_program(self) -> None:
        blocks = re.findall(r"^```py\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
        source = (ROOT / "tests/types_use.py").read_text().splitlines()
        for line in "".join(blocks).splitlines():
            self.assertIn(line, source)
        self.assertEqual(len(blocks), 1)

    @unittest.skipIf(MISSING, MISSING)
    async def test_a_program_with_types_runs(self) -> None:
        server = Server(model=json.loads(MODEL.read_text()))
        self.addCleanup(server.close)
        async with nest.connect(server.address) as client:
            self.assertEqual(await types_use.use(client), ["001 hers", "002 hers", "001 hers", "003 hers"])


if __name__ == "__main__":
    sys.exit(unittest.main())
