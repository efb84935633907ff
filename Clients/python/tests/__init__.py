"""Tests of the Python client: `python3 -m unittest` in Clients/python, or the script `check`."""

import logging
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "src"))
# Tests run with asyncio's debug mode, which reports slow steps of a busy machine.
logging.getLogger("asyncio").setLevel(logging.ERROR)
