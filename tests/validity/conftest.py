"""Lets the modules of this folder import each other by name, as they do when `simulate.py` runs as a script."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
