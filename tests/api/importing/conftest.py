"""The golden study, and logs made on the spot."""

import importlib.util
import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from coherence.runs.logs.answers import AnswerForm, AnswerLog
from coherence.runs.logs.assemble import assemble, format_of
from coherence.runs.logs.inspect_log import CallReading, read_inspect_log

GOLDEN = Path(__file__).parents[2] / "golden"
BELIEF, ACTION = GOLDEN / "inspect_belief.eval", GOLDEN / "inspect_action.eval"
TEXT, YES, CHOICE = (
    next(GOLDEN.glob(f"samples_rain_{name}_*.jsonl")) for name in ("text", "yes", "choice")
)
STUDY = Path(__file__).parents[3] / "benchmarks" / "logs" / "rain_study.py"
# What Inspect says of a run before its samples.
RUN = {"created": "2026-01-05T12:00:00+00:00", "task": "t", "model": "m"}
RUN |= {"dataset": {}, "config": {}}
HEADER = json.dumps({"status": "success", "eval": RUN})


@pytest.fixture(scope="session")
def study():
    """Return the module that the golden logs were made from."""
    spec = importlib.util.spec_from_file_location("rain_study", STUDY)
    module = importlib.util.module_from_spec(spec)
    sys.modules["rain_study"] = module  # dataclasses looks its module up
    spec.loader.exec_module(module)
    return module


AS_IT_IS = AnswerForm()


def assembled(logs, form=AS_IT_IS, **options):
    """Return the table, and notes: answers without a partner, and others but on fields."""
    runs, said = assemble(logs, form, **options)
    unpaired = [note for note in said if " without a" in note.partition("(")[0]]
    fields = ("belief from", "action from")
    notes = [note for note in said if note not in unpaired and not note.startswith(fields)]
    return SimpleNamespace(runs=runs, unpaired=unpaired, notes=notes)


def imported(*paths, belief=None, action=None, mapping=None, model=None, **options):
    if calls := options.pop("calls", None):
        logs = [read_inspect_log(path, CallReading(**calls)) for path in paths]
    else:
        logs = [format_of(paths).read(path) for path in paths]
    tasks = {"belief_task": belief, "action_task": action}
    return assembled(logs, AnswerForm(**options), **tasks, mapping=mapping, model=model)


def log_of(text, name="answers"):
    """Return a log whose records are the lines of a table, under the names of their columns."""
    header, *lines = (line.split(",") for line in text.splitlines())
    records = tuple(dict(zip(header, (c or None for c in line), strict=True)) for line in lines)
    named = dict(zip(header, header, strict=True))
    return AnswerLog(f"{name}.log", None, None, records, named, labels=("action",))


def write_text(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def write_lines(path, objects):
    return write_text(path, "\n".join(map(json.dumps, objects)))


def packed(path, *samples, header=HEADER, **entries):
    """Write a log of Inspect: its header, its samples, and other entries by name."""
    numbered = {f"samples/{number}.json": text for number, text in enumerate(samples, 1)}
    opening = {"header.json": header} if header else {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (opening | numbered | entries).items():
            archive.writestr(name, content)
    return path


def sample(number, content="0.5", **more):
    output = {"choices": [{"message": {"role": "assistant", "content": content}}]}
    asked = {"id": number, "epoch": 1, "input": "Rain?", "target": "Yes", "output": output}
    return json.dumps(asked | more)
