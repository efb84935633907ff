"""Runs what docs/clients.md shows of Python: the quick start, and the program that must print the same lines as in the
other languages.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from .server import MISSING, ROOT, Server

PAGE = ROOT / "docs" / "clients.md"
SOURCES = ROOT / "Clients" / "python" / "src"


def block(language: str, first: str = "") -> str:
    """The first block of a language that begins like this."""
    for label, code in re.findall(r"^```(.*)\n([\s\S]*?)^```$", PAGE.read_text(), re.MULTILINE):
        if label == language and code.startswith(first):
            return str(code)
    raise AssertionError(f"{PAGE} has no block of {language} that begins with '{first}'")


@unittest.skipIf(MISSING, MISSING)
class ClientsPage(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.close)

    def test_the_program_prints_what_the_page_shows(self) -> None:
        source = block("python", "# groceries.py\n").replace("127.0.0.1:7000", self.server.address)
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), (block("text"), ""))

    async def test_the_quick_start_shows_a_live_list(self) -> None:
        await self.follow_a_list(block("sh", "cd groceries\nPYTHONPATH="), {})

    @unittest.skipUnless(importlib.util.find_spec("hatchling"), "hatchling is missing")
    @unittest.skipUnless(importlib.util.find_spec("ensurepip"), "ensurepip is missing (Debian: python3-venv)")
    async def test_the_quick_start_with_pip_shows_a_live_list(self) -> None:
        import hatchling

        assert hatchling.__file__
        tools = str(pathlib.Path(hatchling.__file__).parent.parent)
        # Nothing is downloaded: pip builds with the tools of this machine. "false" is pip's word for no isolation.
        environment = {"PYTHONPATH": tools, "PIP_NO_BUILD_ISOLATION": "false", "PIP_NO_INDEX": "1"}
        await self.follow_a_list(block("sh", "cd groceries\npython3 -m venv venv"), environment)

    async def follow_a_list(self, commands: str, environment: dict[str, str]) -> None:
        """Saves the program of the page, runs it with commands, changes the list, and presses Ctrl-C."""
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        directory = pathlib.Path(made.name)
        (directory / "nest").symlink_to(ROOT)
        (directory / "groceries").mkdir()
        source = block("python", "# live.py\n").replace("127.0.0.1:7000", self.server.address)
        (directory / "groceries" / "live.py").write_text(source)
        program = await asyncio.create_subprocess_exec(
            # The output of pip is not that of the program.
            *("bash", "-ec", re.sub("^.*pip install.*$", r"\g<0> >&2", commands, flags=re.MULTILINE)),
            cwd=directory,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            assert program.stdout
            self.assertEqual(await program.stdout.readline(), b"list:\n")
            await self.server.nestc("add", "Milk", "Bread")
            self.assertEqual(await program.stdout.readline(), b"list: Milk Bread\n")
            os.killpg(program.pid, signal.SIGINT)
            _, errors = await program.communicate()
            self.assertNotIn("Traceback", errors.decode())
            self.assertEqual(program.returncode, 0, errors.decode())
        finally:
            if program.returncode is None:
                os.killpg(program.pid, signal.SIGKILL)
            await program.communicate()


if __name__ == "__main__":
    unittest.main()
