"""Walk through one analysis: the code that it enters and the objects that it makes.

``python benchmarks/walk.py [WORDS]`` runs ``coherence analyze examples/runs.parquet``, or the
command of these words, and counts functions, files and crossings between files of `coherence`,
types of our own made, and objects of them.
"""

import contextlib
import io
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

import coherence
from coherence.cli.main import main

FOLDER = str(Path(coherence.__file__).parent)
TREES = f"{FOLDER}/statistics/boosted_trees.py"  # crossings counted apart
entered, made = Counter[CodeType](), Counter[str]()
crossings, of_trees = 0, 0


def watch(frame: FrameType, event: str, arg: object) -> None:
    """Count a call; an object is made where its dataclass or class is initialised."""
    global crossings, of_trees
    if event != "call":
        return
    code, caller = frame.f_code, frame.f_back
    generated = code.co_filename == "<string>"  # the initialiser of a dataclass
    if code.co_name == "__init__" and (generated or code.co_filename.startswith(FOLDER)):
        kind = type(frame.f_locals["self"])
        made[kind.__qualname__] += kind.__module__.startswith("coherence")
    if not code.co_filename.startswith(FOLDER):
        return
    entered[code] += 1
    source = "" if caller is None else caller.f_code.co_filename
    if source.startswith(FOLDER) and source != code.co_filename:
        crossings += 1
        of_trees += TREES in (source, code.co_filename)


if __name__ == "__main__":
    words = sys.argv[1:] or ["analyze", "examples/runs.parquet", "--seed", "1"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(watch)
        main(words)
        sys.setprofile(None)
    kinds = {name: n for name, n in made.items() if n}
    print(f"{len(entered)} functions in {len({code.co_filename for code in entered})} files")
    print(f"{crossings} crossings between files, {of_trees} of them of boosted trees")
    print(
        f"{sum(kinds.values())} objects of {len(kinds)} types: {kinds.get('CheckResult', 0)} results"
    )
    print(", ".join(f"{name} {n}" for name, n in Counter(kinds).most_common()))
