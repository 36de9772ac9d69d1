"""Lets the modules of this folder import each other by name, as when `simulate.py` is a script."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
