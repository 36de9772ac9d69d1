"""Count what a command enters and makes: ``coherence analyze`` of the example, or words of yours.

What is called counts, not what loading a module runs, nor boosted trees.

    python benchmarks/walk.py elicit --agent leaky --task asia --contexts 20 --out /tmp/runs.csv
"""

import contextlib
import io
import sys
from collections import Counter
from pathlib import Path
from traceback import walk_stack
from types import CodeType, FrameType

from coherence.cli.main import main

PACKAGES = ("coherence", "bayesnets", "elicitation")
FOLDERS = tuple(str(Path(__file__).parents[1] / name) for name in PACKAGES)
entered, made, crossed = set[CodeType](), Counter[str](), Counter[bool]()


def is_loading(frame: FrameType) -> bool:
    """Return whether a module of ours is being loaded."""
    modules = (frame.f_code for frame, _ in walk_stack(frame) if frame.f_code.co_name == "<module>")
    return any(code.co_filename.startswith(FOLDERS) for code in modules)


def watch(frame: FrameType, event: str, arg: object) -> None:
    """Count a call; an object is made where its class is initialised."""
    code, caller = frame.f_code, frame.f_back
    is_call = event == "call" and code.co_filename.startswith(FOLDERS)
    if is_call and (code in entered or not is_loading(frame)):
        entered.add(code)
        other = caller.f_code.co_filename if caller else ""
        if other.startswith(FOLDERS) and other != code.co_filename:
            crossed["boosted_trees" in other + code.co_filename] += 1
    made_here = event == "call" and code.co_name == "__init__"
    # "<string>" is the file of what a dataclass is made by.
    if made_here and code.co_filename.startswith((*FOLDERS, "<string>")):
        kind = type(frame.f_locals["self"])
        made.update([kind.__qualname__] * kind.__module__.startswith(PACKAGES))


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(watch)
        main(sys.argv[1:] or ["analyze", "examples/runs.parquet", "--seed", "1"])
        sys.setprofile(None)
    files, n = {code.co_filename for code in entered}, crossed[False]
    print(f"{len(entered)} functions, {len(files)} files, {n} crossings, {len(made)} types", made)
