"""A nestd for tests: from NEST_BUILD, or the debug build at the root of the repository."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("NEST_BUILD", ROOT / ".build" / "debug"))
NESTD = BUILD / "nestd"
NESTC = BUILD / "nestc"
#: Why tests with a server are skipped; empty if they are not.
MISSING = "" if NESTD.exists() else f"there is no nestd in {BUILD}: set NEST_BUILD, or run make build-tests"


class Server:
    """A server in a directory of its own, which `close` removes. It keeps its port when it starts again."""

    def __init__(self, *options: str, model: Any = None) -> None:
        self.directory = tempfile.mkdtemp(prefix="nest-python-")
        self.port = 0
        self._options = options
        if model:
            self._options = (*options, "--model", str(self._model))
            self.change_model(model)
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def _model(self) -> pathlib.Path:
        return pathlib.Path(self.directory, "model.json")

    @property
    def model_file(self) -> pathlib.Path:
        """The file of the model of the next start."""
        return self._model

    def change_model(self, model: Any) -> None:
        """The model of the next start."""
        self._model.write_text(json.dumps(model))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when the server listens."""
        store = os.path.join(self.directory, "store.sqlite")
        self._process = subprocess.Popen(
            [NESTD, "--port", str(self.port), "--store", store, *self._options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": self.directory},
            text=True,
        )
        assert self._process.stdout
        for line in self._process.stdout:
            found = re.search(r"listens on 127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                return
        raise AssertionError(f"nestd ended with {self._process.wait()}")

    @property
    def command(self) -> dict[str, Any]:
        """What a command of nestc needs to know of this server, for `subprocess` and `asyncio`."""
        return {"env": {"PATH": os.environ["PATH"], "HOME": self.directory, "NEST_SERVER": self.address}}

    async def nestc(self, *arguments: str) -> list[Any]:
        """The lines that a command of nestc prints with --json."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            NESTC, *arguments, "--json", **self.command, stdout=pipe, stderr=pipe
        )
        output, errors = await process.communicate()
        if process.returncode != 0:
            raise AssertionError(f"nestc {' '.join(arguments)}: {errors.decode()}")
        return [json.loads(line) for line in output.splitlines()]

    def run(self, *arguments: str) -> str:
        """Runs a command of nestd on the store of a server that is stopped; returns what it prints."""
        store = ["--store", os.path.join(self.directory, "store.sqlite")]
        done = subprocess.run([NESTD, *arguments, *store], capture_output=True, text=True, check=True)
        return done.stdout

    def kill(self) -> None:
        """Ends it as a power cut does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends it as an operator does: with GOAWAY."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process:
            self._process.send_signal(number)
            self._process.wait()
            assert self._process.stdout
            self._process.stdout.close()
            self._process = None

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


async def until(changes: Any, kind: Any) -> Any:
    """The next change of a kind."""
    async for change in changes:
        if isinstance(change, kind):
            return change
    raise AssertionError(f"the subscription ended without a {kind}")
