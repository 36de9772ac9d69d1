"""Make docs/api.md and llms.txt: what is asked, by which command, of which columns.

Read off declarations: PYTHONPATH=. python docs/for_programs.py
"""

import re
from pathlib import Path

import coherence
from coherence.checks import CHECKS
from coherence.checks.check import Question, declaration
from coherence.checks.sufficiency import NAME as PRIMARY
from coherence.cli.main import COMMANDS
from coherence.runs.columns import COLUMNS
from coherence.runs.needs import (
    ANOTHER_PROMPT,
    BELIEF,
    EXACT,
    GIVEN_Z,
    MATCHING_QUESTIONS,
    ONE_BELIEF,
    STAKES_QUESTIONS,
    TARGET,
)

ROOT = Path(__file__).parents[1]
STATUSES = "eliciting.md#what-the-status-of-an-answer-means"
# Columns that meet a need which is not one itself.
MEETS = {
    BELIEF: "`p`, or `p_<state>`",
    ONE_BELIEF: "`p`",
    TARGET: "`theta` or `p_true`",
    EXACT: "`p_true`",
    ANOTHER_PROMPT: "two values of `prompt`",
    GIVEN_Z: "`z`, `z_state`, `p_z`",
    MATCHING_QUESTIONS: "`action`, `level`",
    STAKES_QUESTIONS: "`action`, `loss` (`gain` if it is not 1), and `acts` or `--acts LABEL`",
}
HEAD = """# Which command, which columns, which Python names?

Made from the declarations of the program, for readers that are programs too. A table has a row for
each answer; `context` names its case. `coherence analyze FILE --json FILE` runs every check that
the columns allow but those [by name](checks.md) (`--checks A,B`), and exits with 2, and a line on
stderr, where it cannot; `--fail-on CONDITION` exits with 1 [where it holds](pipelines.md).
"""
NAMES = """
## Python names

Ten names of `coherence` do most of it; `help(coherence.cmi_test)` says what one takes and returns:
"""
PROMISE = """
Beside `coherence`: `coherence.batteries` scores the [batteries](batteries.md), `coherence.plots`
has [figures](gallery.md), `bayesnets` networks, exact posteriors and records as truth,
`elicitation` asks models (`.[elicit]` for those in a folder). All names of one: `__all__`.

## What stays as it is

Versions follow [semantic versioning](../CONTRIBUTING.md#what-a-version-promises). Public are the
names in `__all__` of these packages, the columns of the runs table and of the results, the JSON
Schema of the results (`coherence schema`), and the options and exit statuses of the commands.
"""


def cell(text: str) -> str:
    """Return a text that neither ends a cell of a table nor begins a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def page() -> str:
    """Return the page."""
    lines = [HEAD, "| question | `--checks` | columns |", "|---|---|---|"]
    places = list(Question)
    checks = sorted(
        map(declaration, CHECKS),
        key=lambda check: (places.index(check.question), check.name != PRIMARY),
    )
    for check in checks:
        needs = ", ".join(MEETS.get(need, f"`{need}`") for need in check.needs)
        lines.append(f"| {check.question} | `{check.name}` | {needs} |")
    lines += ["", "## Columns", "", "| column | option | values | meaning |", "|---|---|---|---|"]
    names = [column.name for column in COLUMNS]
    last = names.index("status")
    for column in COLUMNS[:last]:
        option = f"`--{column.option}`" if column.option else ""
        values = ", ".join(f"`{choice}`" for choice in column.choices) or column.kind
        lines.append(f"| `{column.name}` | {option} | {values} | {cell(column.meaning)} |")
    written = ", ".join(f"`{name}`" for name in names[last + 1 :])
    lines += ["", f"Besides, `x_...` for evidence, the [`status`]({STATUSES}) of a row, and what"]
    lines += [f"`elicit` writes: {written}.", "", "## Commands", ""]
    commands = ", ".join(f"`{name}`" for name in COMMANDS)
    lines += [f"`coherence` with {commands}; `--help` behind each says what it does and takes."]
    lines += [NAMES, "| name | what it is |", "|---|---|"]
    rows = re.findall(r"^`(\w+)` +(.*)$", coherence.__doc__, re.MULTILINE)
    lines += [f"| `{name}` | {what.replace('``', '`')} |" for name, what in rows]
    return ("\n".join(lines) + "\n" + PROMISE).replace("|  |", "| |")


def index() -> str:
    """Return llms.txt: the pages by title, as llmstxt.org has it."""
    titles = {
        path: path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path.name != "api.md"
    }
    lines = [
        "# belief-coherence",
        "",
        "> Statistical tests of whether the probability that a language model, or a person, states "
        "could be the belief acted on. `pip install .`, then `coherence analyze FILE` or "
        "`coherence.analyze(table, rng=1)`.",
        "",
        "- [Commands, columns, Python names](docs/api.md): made from the declarations",
        "",
        "## Pages",
        "",
        *(f"- [{title}]({path.relative_to(ROOT).as_posix()})" for path, title in titles.items()),
    ]
    return "\n".join(lines) + "\n"


MADE = {ROOT / "docs" / "api.md": page, ROOT / "llms.txt": index}

if __name__ == "__main__":
    for file, make in MADE.items():
        file.write_text(make(), encoding="utf-8")
