"""The golden study, and files made on the spot."""

import importlib.util
import json
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest

from coherence.importing.assemble import Reading, assemble
from coherence.importing.log_format import read_logs
from coherence.importing.tool_calls import CallReading, read_calls
from coherence.table.text_files import TextForm

STUDY = Path(__file__).parents[3] / "benchmarks" / "logs" / "rain_study.py"
# What Inspect says of a run before its samples.
RUN = {
    "created": "2026-01-05T12:00:00+00:00",
    "task": "t",
    "model": "m",
    "dataset": {},
    "config": {},
}
HEADER = json.dumps({"status": "success", "eval": RUN})


@pytest.fixture(scope="session")
def study():
    """Return the module that the golden logs were made from."""
    spec = importlib.util.spec_from_file_location("rain_study", STUDY)
    module = importlib.util.module_from_spec(spec)
    sys.modules["rain_study"] = module  # dataclasses looks its module up
    spec.loader.exec_module(module)
    return module


def _imported(
    *paths,
    format="auto",
    belief=(),
    action=(),
    mapping=None,
    model=None,
    max_bytes=None,
    sep=None,
    decimal=".",
    encoding=None,
    calls=None,
    **reading,
):
    text = TextForm(sep=sep, decimal=decimal, encoding=encoding)
    limit = {} if max_bytes is None else {"max_bytes": max_bytes}
    if calls is not None:
        limit["calls"] = partial(read_calls, reading=CallReading(**calls))
    _, logs = read_logs(list(paths), format=format, text=text, **limit)
    return assemble(
        logs,
        Reading(**reading),
        belief_tasks=belief,
        action_tasks=action,
        mapping=mapping,
        model=model,
    )


@pytest.fixture(scope="session")
def imported():
    return _imported


def _write_table(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def write_table():
    return _write_table


def _packed(path, entries, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


@pytest.fixture(scope="session")
def packed():
    return _packed


def _sample(number, completion="0.5", **more):
    return json.dumps(
        {
            "id": number,
            "epoch": 1,
            "input": "Rain?",
            "target": "Yes",
            "output": {"choices": [{"message": {"role": "assistant", "content": completion}}]},
            **more,
        }
    )


@pytest.fixture(scope="session")
def sample():
    return _sample
