"""Make a log of an agent's episodes with Inspect and its mock model, and time its import.

    python benchmarks/agent_logs.py --out benchmarks/agent_logs.md

500 episodes of 19 turns; in each the agent is asked for a probability aside, calls one of two
tools and reads a result of 16,000 letters that hardly pack. 25 episodes are run, and written 20
times with names of their own by Inspect's writer. Every import runs as a process of its own on one
thread: seconds of processor time and on the clock, and the most memory that the process held.
"""

import argparse
import os
import platform
import random
import string
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, transcript, write_eval_log
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, execute_tools, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, tool

N_RUN, N_COPIES, N_TURNS, LETTERS = 25, 20, 19, 16_000
TOOLS = ("test", "treat")
THREADS = {"OMP_NUM_THREADS": "1"}


def letters(rng: random.Random, n: int) -> str:
    """Return words of random letters, which pack to about six tenths."""
    return "".join(rng.choices(string.ascii_lowercase + " " * 6, k=n))


@tool(name="test")
def look(rng: random.Random) -> Tool:
    """Return a tool that answers at length."""

    async def execute(kind: str) -> str:
        """Run a test.

        Args:
            kind: Which one.
        """
        return letters(rng, LETTERS)

    return execute


@tool(name="treat")
def treat(rng: random.Random) -> Tool:
    """Return another one."""

    async def execute(dose: int) -> str:
        """Treat the patient.

        Args:
            dose: Units to give.
        """
        return letters(rng, LETTERS)

    return execute


def reply(rng: random.Random, name: str) -> ModelOutput:
    """Return what the agent says in a turn."""
    arguments = {"kind": rng.choice("ab")} if name == "test" else {"dose": rng.choice([5, 10])}
    output = ModelOutput.for_tool_call("mockllm/model", name, arguments, content=letters(rng, 500))
    # Without it Inspect would look for a tokenizer on the web.
    output.usage = ModelUsage(input_tokens=30, output_tokens=3, total_tokens=33)
    return output


@solver
def episode(n_turns: int, seed: int) -> Solver:
    """Return the agent: a question aside before each tool call."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        rng = random.Random(f"{seed} {state.sample_id} {state.epoch}")
        tools = [look(rng), treat(rng)]
        for turn in range(n_turns):
            p = round(rng.random(), 2)
            said = {"turn": turn, "question": "How likely?", "reply": str(p), "p": p}
            name = TOOLS[rng.random() < p]
            model = get_model("mockllm/model", custom_outputs=[reply(rng, name)], memoize=False)
            output = await model.generate(state.messages, tools=tools, config=GenerateConfig())
            state.messages.append(output.message)
            transcript().info(said, source="coherence.side_question")
            messages, _ = await execute_tools(state.messages, tools)
            state.messages.extend(messages)
        return state

    return solve


def make_log(folder: Path, seed: int = 1) -> Path:
    """Run the agent, and write its episodes several times into one log."""
    rng = random.Random(seed)
    samples = [
        Sample(id=f"case-{number}", input="A patient.", target=rng.choice(["Yes", "No"]))
        for number in range(N_RUN)
    ]
    task = Task(dataset=samples, solver=episode(N_TURNS, seed), name="clinic")
    (done,) = eval(task, model="mockllm/model", log_dir=str(folder / "run"), display="none")
    if done.status != "success":
        raise SystemExit(str(done.error))
    log = read_eval_log(done.location)
    log.samples = [
        sample.model_copy(update={"id": f"{sample.id}-{copy}", "uuid": f"{sample.id}-{copy}"})
        for copy in range(N_COPIES)
        for sample in log.samples or []
    ]
    log.eval.dataset.sample_ids = [sample.id for sample in log.samples]
    log.eval.dataset.samples = len(log.samples)
    path = folder / "agent.eval"
    write_eval_log(log, str(path))
    return path


EVENTS = (
    "import sys; from inspect_ai.analysis import events_df, EventInfo, EventColumn as C\n"
    "names = 'function', 'arguments', 'data'\n"
    "columns = [C(n, path=lambda e, n=n: getattr(e, n, None)) for n in names]\n"
    "keep = lambda e: e.event in ('tool', 'info')\n"
    "events_df(sys.argv[1], columns=EventInfo + columns, filter=keep, quiet=True)"
)
IMPORT = ("-m", "coherence", "import", "LOG")
CALLS = (*IMPORT, "--action-from", "tool_calls", "--out", "OUT")
LINES = {
    "coherence import --action-from tool_calls": CALLS,
    "the same, --belief-from text": (*CALLS, "--belief-from", "text"),
    "coherence import --list": (*IMPORT, "--list"),
    "coherence import, the last answers": (*IMPORT, "--out", "OUT"),
    "Inspect's events_df of tools and side questions": ("-c", EVENTS, "LOG"),
}


def measure(arguments: tuple[str, ...], log: Path, out: Path) -> tuple[float, float, float]:
    """Return processor time, time on the clock and peak memory (MB) of a process."""
    names = {"LOG": str(log), "OUT": str(out)}
    command = [sys.executable, *(names.get(word, word) for word in arguments)]
    out.unlink(missing_ok=True)
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | THREADS)
    _, status, used = os.wait4(process.pid, 0)
    # Where no answer can be read the import says so by status 1.
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{' '.join(command)} failed")
    clock = time.perf_counter() - began
    return used.ru_utime + used.ru_stime, clock, used.ru_maxrss / 1e3


def main() -> None:
    """Make the log, time all lines, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="Markdown file to write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        log = make_log(Path(name))
        rows = []
        for line, arguments in LINES.items():
            cpu, clock, memory = measure(arguments, log, Path(name) / "runs.parquet")
            rows.append(f"| {line} | {cpu:.1f} | {clock:.1f} | {memory:.0f} |")
            print(rows[-1], flush=True)
        size = log.stat().st_size / 1e6
    lines = [
        "# Importing a long log of an agent",
        "",
        f"Made by `python benchmarks/agent_logs.py --out {options.out}` on Python "
        f"{platform.python_version()}, {platform.machine()}, inspect_ai {version('inspect_ai')}: "
        f"{N_RUN * N_COPIES} episodes of {N_TURNS} turns, {size:.0f} MB. "
        "Processor time is what an idle machine takes; the clock counts other processes too.",
        "",
        "| | CPU seconds | seconds on the clock | peak memory, MB |",
        "|---|---|---|---|",
        *rows,
        "",
    ]
    options.out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
