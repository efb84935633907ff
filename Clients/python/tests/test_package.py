"""The wheel and the sdist: everything that a program needs is in them, and nothing else."""

from __future__ import annotations

import email
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = {
    path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/nest").rglob("*") if path.suffix != ".pyc"
}
SOURCES = {path for path in SOURCES if (ROOT / "src" / path).is_file()}
#: Runs in a process of its own, in the directory of the package.
BUILD = """
import sys
from hatchling.build import build_sdist, build_wheel
build_wheel(sys.argv[1])
build_sdist(sys.argv[1])
"""


@unittest.skipUnless(importlib.util.find_spec("hatchling"), "hatchling is missing")
class Package(unittest.TestCase):
    def setUp(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        subprocess.run([sys.executable, "-c", BUILD, made.name], cwd=ROOT, check=True, capture_output=True)
        directory = pathlib.Path(made.name)
        (self.wheel,), (self.sdist,) = directory.glob("*.whl"), directory.glob("*.tar.gz")

    def test_the_wheel_has_all_sources_and_runs(self) -> None:
        with zipfile.ZipFile(self.wheel) as wheel:
            names = set(wheel.namelist())
            (metadata,) = (name for name in names if name.endswith("/METADATA"))
            fields = email.message_from_bytes(wheel.read(metadata))
        self.assertEqual({name for name in names if ".dist-info/" not in name}, SOURCES)
        self.assertIn("nest/py.typed", names)
        package = json.loads((ROOT.parent / "js/package.json").read_text())
        self.assertEqual((fields["Name"], fields["Version"]), (package["name"], package["version"]))
        self.assertEqual(fields["License-Expression"], package["license"])
        self.assertEqual(sorted(fields.get_all("Provides-Extra", [])), ["frames", "zstd"])
        program = "import nest, sys; assert '.whl' in nest.__file__; print(nest.connect())"
        environment = {**os.environ, "PYTHONPATH": str(self.wheel)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("<Client of nest://127.0.0.1:7000, connecting>\n", ""))

    def test_the_sdist_has_what_the_wheel_is_made_of(self) -> None:
        with tarfile.open(self.sdist) as archive:
            names = {name.split("/", 1)[1] for name in archive.getnames()}
        expected = {f"src/{name}" for name in SOURCES} | {"README.md", "pyproject.toml", "PKG-INFO", ".gitignore"}
        self.assertEqual(names, expected)


if __name__ == "__main__":
    unittest.main()
