"""Count the functions and files that ``coherence analyze``, or words of yours, calls."""

import contextlib
import io
import sys
from pathlib import Path
from traceback import walk_stack
from types import CodeType, FrameType

from coherence.cli.main import main

ROOT = Path(__file__).parents[1]
FOLDERS = tuple(str(ROOT / name) for name in ("coherence", "bayesnets", "elicitation"))
entered = set[CodeType]()


def is_loading(frame: FrameType) -> bool:
    """Return whether a module of ours is being loaded."""
    modules = (frame.f_code for frame, _ in walk_stack(frame) if frame.f_code.co_name == "<module>")
    return any(code.co_filename.startswith(FOLDERS) for code in modules)


def watch(frame: FrameType, event: str, arg: object) -> None:
    """Count a call."""
    code = frame.f_code
    is_call = event == "call" and code.co_filename.startswith(FOLDERS)
    if is_call and (code in entered or not is_loading(frame)):
        entered.add(code)


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(watch)
        main(sys.argv[1:] or ["analyze", "examples/runs.parquet", "--seed", "1"])
        sys.setprofile(None)
    files = {code.co_filename for code in entered}
    print(f"{len(entered)} functions, {len(files)} files")
