"""Every fenced example of the README and of docs/ runs.

Commands run with smaller numbers where they would take minutes. Those of the README start a
Python of their own, as a reader's do; those of the other pages run here, without its imports.
"""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coherence import read_runs, write_runs
from coherence.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "examples" / "README.md",
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Training and elicitation in full take minutes; their own tests do that. Here the commands must
# exist and take these options.
SMALLER = {"--contexts": "12", "--reps": "2", "--steps": "3", "--simulations": "20"}
# What trains a model or asks whole batteries is not for the ordinary run, wherever it stands.
LENGTHY = re.compile(r"coherence (?:organisms|reveal|bets train|elicit|import|study)|_lesson\.py")

# What trains several models, or one and then asks it a whole battery, simulates whole batteries, or
# is a whole study: the best part of a minute of processor time and more.
SLOW = re.compile(
    r"coherence (?:organisms|bets train)|train_tiny_causal.*coherence (?:mix|reveal|bets|networks)|"
    r"mixing_lesson|coherence study run \S+ --out study\n",
    re.DOTALL,
)


# The page that a newcomer reads first is for the ordinary run.
FIRST_PAGES = ("README.md",)


def marks_of(page, body):
    if "coherence models fetch" in body:
        # Whole batteries take a real model minutes.
        whole = re.search(r"coherence (?:mix|bets|study) ", body)
        return [pytest.mark.smollm2, *([pytest.mark.slow] if whole else [])]
    if SLOW.search(body):
        return [pytest.mark.slow]
    takes_time = LENGTHY.search(body) or page.relative_to(ROOT).as_posix() not in FIRST_PAGES
    return [pytest.mark.lengthy] if takes_time else []


def blocks(language):
    """Return the blocks of a language; one that several pages show is run once."""
    shown = {}
    for page in PAGES:
        for number, (name, body) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            if name == language:
                shown.setdefault(body, (page, number))
    return [
        pytest.param(
            body,
            id=f"{page.relative_to(ROOT)}:{number}",
            marks=marks_of(page, body),
        )
        for body, (page, number) in shown.items()
    ]


@pytest.fixture
def workplace(tmp_path):
    """Return a folder that looks like a clone, for what the commands write."""
    (tmp_path / "examples").mkdir()
    for file in (ROOT / "examples").iterdir():
        (tmp_path / "examples" / file.name).symlink_to(file)
    study = tmp_path / "examples" / "study.toml"
    text = study.read_text(encoding="utf-8").replace("contexts = 60", "contexts = 12")
    study.unlink()
    study.write_text(text, encoding="utf-8")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    return tmp_path


def run_cold(words, *, cwd):
    """Run ``coherence WORDS`` or ``python WORDS`` in a Python of its own."""
    program = ["-m", "coherence"] if words[0] == "coherence" else []
    done = subprocess.run(
        [sys.executable, *program, *words[1:]],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
        timeout=600,
    )
    return done.returncode, done.stderr


@pytest.fixture
def run(request, monkeypatch, capsys):
    """Run a command in a folder; return its exit status and what it said besides."""

    def here(words, *, cwd):
        monkeypatch.chdir(cwd)
        if words[0] == "coherence":
            return main(words[1:]), capsys.readouterr().err
        monkeypatch.setattr(sys, "argv", words[1:])
        runpy.run_path(words[1], run_name="__main__")
        return 0, ""

    return run_cold if request.node.callspec.id.startswith(FIRST_PAGES) else here


@pytest.mark.parametrize("body", blocks("python"))
def test_python_blocks_run(body, workplace, run):
    # What the two sessions of examples/README.md leave, which ask models for minutes.
    both = read_runs(ROOT / "examples" / "runs.parquet")
    for name in ("planted", "smollm2"):
        rows = both["model"].str.lower().str.startswith(name)
        write_runs(both[rows], workplace / f"{name}.parquet")
    (workplace / "block.py").write_text(body, encoding="utf-8")
    status, said = run(["python", "block.py"], cwd=workplace)
    assert status == 0, said


@pytest.fixture(scope="session")
def readers():
    """Return trained readers by command: several pages begin with the same one."""
    return {}


def shrunk(words):
    smaller = [SMALLER.get(before, word) for before, word in zip(["", *words], words, strict=False)]
    if "examples/train_reader.py" in words:
        smaller += ["--steps", "3"]
    if words[1:2] == ["examples/mixing_lesson.py"]:
        smaller += ["--draws", "5"]
    if words[1:2] == ["power"] and "--simulations" not in words:
        smaller += ["--simulations", "20"]
    # A reader of three steps says nothing that can be read, which would end a session.
    if words[1:2] == ["elicit"]:
        smaller += ["--keep-going"]
    return smaller


# `coherence` as a shell finds it, and a pipe that fails where any part of it does.
SHELL = 'set -o pipefail; coherence() {{ {python} -m coherence "$@"; }}; {command}'
STATUS = re.compile(r"# exits with (\d)")


@pytest.mark.parametrize("body", [*blocks("pipeline"), *blocks("yaml")])
def test_pipelines_run(body, workplace):
    """Lines of a shell, or of a workflow, with the exit status that is said behind them."""
    lines = [line.strip().removeprefix("- run: ") for line in body.splitlines()]
    commands = [line for line in lines if "coherence " in line.split("#")[0]]
    commands = [line for line in commands if not line.startswith(("#", "pip ", "name:"))]
    assert commands
    for command in commands:
        said = STATUS.search(command)
        done = subprocess.run(
            ["bash", "-c", SHELL.format(python=shlex.quote(sys.executable), command=command)],
            cwd=workplace,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            timeout=300,
        )
        assert done.returncode == int(said[1] if said else 0), f"{command}: {done.stderr}"


@pytest.mark.parametrize("body", blocks("bash"))
def test_commands_run(body, workplace, run, readers, tmp_path_factory, request):
    ran = 0
    for line in body.replace("\\\n", " ").splitlines():
        for command in line.split("#")[0].split("&&"):
            words = shlex.split(command)
            if not words or words[0] in ("pip", "pytest", "git", "cd"):
                continue  # installing and testing is what is going on already
            assert words[0] in ("coherence", "python"), command
            ran += 1
            if words[:3] == ["coherence", "models", "fetch"]:
                # Fetched once for all pages; what fetching does has tests of its own.
                (workplace / "models").mkdir(exist_ok=True)
                folder = workplace / words[words.index("--out") + 1]
                folder.symlink_to(request.getfixturevalue("smollm2_folder"))
                continue
            if command in readers and not (workplace / "models").exists():
                shutil.copytree(readers[command], workplace / "models")
                continue
            status, said = run([words[0], *shrunk(words)[1:]], cwd=workplace)
            assert status == 0, f"{command}: {said}"
            if "examples/train_reader.py" in words:
                readers[command] = tmp_path_factory.mktemp("readers") / "models"
                shutil.copytree(workplace / "models", readers[command])
    assert ran or "pip" in body
