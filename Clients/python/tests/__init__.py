"""Tests of the Python client: `python3 -m unittest` in Clients/python, or the script `check`."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "src"))
