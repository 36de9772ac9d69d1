"""Make docs/for-programs.md and llms.txt: what is asked, by which command, of which columns.

From the declarations of checks, columns and commands: PYTHONPATH=. python docs/for_programs.py
"""

from pathlib import Path

from coherence.checks import CHECKS
from coherence.checks.catalogue import declaration
from coherence.checks.check import Question
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
HEAD = """# Which command, and which columns?

Made from the declarations of the program, for readers that are programs too.
A table has a row for each answer; `context` names its case. `coherence analyze FILE` runs every
check that the columns allow but those [by name](checks.md), and exits with 2, and a line on stderr,
where it cannot.
`--json FILE` writes the [results](export.md); `--fail-on CONDITION` exits with 1 where it holds.
"""


def cell(text: str) -> str:
    """Return a text that neither ends a cell of a table nor begins a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def page() -> str:
    """Return the page."""
    lines = [HEAD, "| question | command | columns |", "|---|---|---|"]
    places = list(Question)
    checks = sorted(
        map(declaration, CHECKS),
        key=lambda check: (places.index(check.question), check.name != PRIMARY),
    )
    for check in checks:
        needs = ", ".join(MEETS.get(need, f"`{need}`") for need in check.needs)
        lines.append(
            f"| {check.question} | `coherence analyze FILE --checks {check.name}` | {needs} |"
        )
    lines += ["", "## Columns", "", "| column | option | values | meaning |", "|---|---|---|---|"]
    for column in COLUMNS:
        option = f"`--{column.option} COLUMN`" if column.option else ""
        values = ", ".join(f"`{choice}`" for choice in column.choices) or column.kind
        lines.append(f"| `{column.name}` | {option} | {values} | {cell(column.meaning)} |")
    lines += ["", "## Commands", "", "| command | what it does |", "|---|---|"]
    lines += [f"| `coherence {name}` | {cell(what)} |" for name, what in COMMANDS.items()]
    return "\n".join(lines).replace("|  |", "| |") + "\n"


def index() -> str:
    """Return llms.txt: the pages by title, as llmstxt.org has it."""
    titles = {
        path: path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path.name != "for-programs.md"
    }
    lines = [
        "# belief-coherence",
        "",
        "> Statistical tests of whether the probability that a language model, or a person, states "
        "could be the belief acted on. `pip install .`, then `coherence analyze FILE` or "
        "`coherence.analyze(table, rng=1)`.",
        "",
        "- [Which command, and which columns?](docs/for-programs.md): made from the declarations",
        "",
        "## Pages",
        "",
        *(f"- [{title}]({path.relative_to(ROOT).as_posix()})" for path, title in titles.items()),
    ]
    return "\n".join(lines) + "\n"


MADE = {ROOT / "docs" / "for-programs.md": page, ROOT / "llms.txt": index}

if __name__ == "__main__":
    for file, make in MADE.items():
        file.write_text(make(), encoding="utf-8")
