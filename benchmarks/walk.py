"""Count what ``coherence analyze`` of the example enters and makes, without boosted trees."""

import contextlib
import io
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

import coherence
from coherence.cli.main import main

FOLDER = str(Path(coherence.__file__).parent)
entered, made, crossed = set[CodeType](), Counter[str](), Counter[bool]()


def watch(frame: FrameType, event: str, arg: object) -> None:
    """Count a call; an object is made where its class is initialised."""
    code, caller = frame.f_code, frame.f_back
    if event == "call" and code.co_filename.startswith(FOLDER):
        entered.add(code)
        other = caller.f_code.co_filename if caller else ""
        if other.startswith(FOLDER) and other != code.co_filename:
            crossed["boosted_trees" in other + code.co_filename] += 1
    made_here = event == "call" and code.co_name == "__init__"
    if made_here and code.co_filename.startswith((FOLDER, "<string>")):  # the latter of dataclasses
        kind = type(frame.f_locals["self"])
        made.update([kind.__qualname__] * kind.__module__.startswith("coherence"))


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(watch)
        main(sys.argv[1:] or ["analyze", "examples/runs.parquet", "--seed", "1"])
        sys.setprofile(None)
    files, n = {code.co_filename for code in entered}, crossed[False]
    print(f"{len(entered)} functions, {len(files)} files, {n} crossings, {len(made)} types", made)
