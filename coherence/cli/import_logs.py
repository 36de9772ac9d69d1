"""``coherence import``: answers that another program elicited -> a runs table."""

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.reading import add_reading, named_columns
from coherence.cli.run_options import comma_separated, declare
from coherence.errors import InputError
from coherence.printable import clean, counted
from coherence.runs.columns import OPTIONS as COLUMN_OPTIONS
from coherence.runs.columns import Reading

if TYPE_CHECKING:
    import pandas as pd

    from coherence.runs.logs.answers import AnswerLog, LogFormat
    from coherence.runs.runs import Runs

_EXAMPLES = 3  # of answers that could not be read


OPTIONS = """
files FILE+  logs of one format: .eval or .json of Inspect, or samples_*.jsonl of lm-eval, also
    packed as .gz; the options of columns name their fields, and - leaves one out
--out FILE  runs table to write: .parquet, .csv or .jsonl
--belief-task NAME  task that asked for beliefs
--action-task NAME  task that asked for actions; joined by sample and repetition
--actions A,B  actions that were offered, where the log does not say; 'A|B' if they have commas
--positive LABEL  state whose probability the belief is (default: Yes, True or 1)
--model NAME  name of the model, where the log does not say
--force  replace the output if it exists
[agents] where every episode of an Inspect log is a case
--action-from TOOL  tool whose last call in an episode is its action, or several with commas between
    them; TOOL.ARGUMENT takes the argument's value
--belief-from WHERE  where the belief before the action stands: side_question (default),
    tool:NAME.ARGUMENT or text
--belief-pattern REGEX  regular expression whose group is the number, in answers or words of an
    agent, such as 'probability of rain: ([0-9.]+)'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    declare(parser, OPTIONS)
    # Of logs the names are those of fields; a task and a model have options of their own.
    add_reading(parser, {*COLUMN_OPTIONS, "scale", "percent"} - {"task", "model-column"})


def run(args: argparse.Namespace) -> int:
    """Read, join, write, sum up."""
    from coherence.runs.logs.assemble import format_of
    from coherence.runs.runs import Runs
    from coherence.runs.write import write_runs

    files = [Path(name) for name in args.files]
    mapping, pattern = named_columns(args), _pattern(args)
    out = Path(args.out or "")
    if args.out is not None:  # all that can be wrong with it is said before the logs are read
        _check_output(out, files, force=args.force)
    format = format_of(files)
    logs = _logs(args, files, format, mapping, pattern)
    if args.out is None:
        raise InputError("--out says which runs table to write, such as --out runs.parquet.")
    table, notes = _imported(args, [*logs], mapping, pattern)
    write_runs(table, out)
    runs = Runs(table)
    _print_summary(runs, notes, out, format.name)
    return 1 if _mostly_unparsed(runs) else 0


def _logs(
    args: argparse.Namespace,
    files: Sequence[Path],
    format: "LogFormat",
    mapping: Mapping[str, str],
    pattern: "re.Pattern[str] | None",
) -> "Iterator[AnswerLog]":
    """Return the logs as they are read: the episodes of agents, or the answers."""
    read = format.read
    if args.action_from is None and args.belief_from:
        raise InputError("--belief-from is about the episodes of agents. Add --action-from TOOL.")
    if args.action_from is not None and format.name != "inspect":
        raise InputError(
            f"{files[0]}: only logs of Inspect have tool calls; this one has the format "
            f"{format.name}. Leave out --action-from."
        )
    if format.name == "inspect":
        from coherence.runs.logs import inspect_log

        said = {"p", "action"} & {*mapping} or args.belief_task or args.action_task
        if args.action_from is not None:
            tools = tuple(comma_separated(args.action_from))
            calls = inspect_log.CallReading(tools, args.belief_from or "side_question", pattern)
            read = partial(inspect_log.read_inspect_log, calls=calls)
        elif not said:
            for path in files:
                inspect_log.require_action_from(path)
    return map(read, files)


def _imported(
    args: argparse.Namespace,
    logs: "Sequence[AnswerLog]",
    mapping: Mapping[str, str],
    pattern: "re.Pattern[str] | None",
) -> "tuple[pd.DataFrame, list[str]]":
    from coherence.runs.logs.answers import AnswerForm
    from coherence.runs.logs.assemble import assemble
    from coherence.runs.logs.inspect_log import OWN_TASK

    for log in logs:
        if log.task == OWN_TASK:  # their samples carry their whole design
            raise InputError(
                f"{log.file} is a log of the task {log.task!r}, whose samples say what each "
                f"question is. Read it with coherence analyze {log.file}."
            )
    # Bars part actions that have commas in them.
    offered = args.actions or ""
    actions = tuple(comma_separated(offered, "|" if "|" in offered else ","))
    line = Reading(scale=args.scale, percent=args.percent).line
    form = AnswerForm(actions, args.positive, line, pattern)
    tasks = {"belief_task": args.belief_task, "action_task": args.action_task}
    return assemble(logs, form, **tasks, mapping=mapping, model=args.model)


def _pattern(args: argparse.Namespace) -> "re.Pattern[str] | None":
    """Return the pattern of a belief among words."""
    if args.belief_pattern is None:
        return None
    try:
        pattern = re.compile(args.belief_pattern, re.IGNORECASE)
    except re.error as error:
        raise InputError(
            f"--belief-pattern must be a regular expression; {args.belief_pattern!r} is none: "
            f"{error}. Such as 'probability: ([0-9.]+)'."
        ) from None
    if pattern.groups > 1:
        raise InputError(
            f"--belief-pattern must have one group, the number; received {args.belief_pattern!r} "
            f"with {pattern.groups}. Write (?:...) for the others."
        )
    return pattern


def _check_output(out: Path, files: Sequence[Path], *, force: bool) -> None:
    """Raise before anything is read; an input is never replaced, not even with --force."""
    from coherence.runs.files import require_new

    if out.suffix.lower() not in (".parquet", ".csv", ".jsonl"):
        raise InputError(f"--out must end in .parquet, .csv or .jsonl; received {out}.")
    if not out.exists():
        return
    # samefile sees through links, which names do not.
    if any(file.exists() and file.samefile(out) for file in files):
        raise InputError(f"--out must not be one of the logs; {out} is. Name another file.")
    if not force:
        require_new(out, remedy="Name another, or replace it with --force.")


def _print_summary(runs: "Runs", notes: Sequence[str], out: Path, format: str) -> None:
    from coherence.checks.check import unmet_needs

    sizes = [counted(len(runs), "row")]
    for name in ("context", "model", "prompt"):
        if name in runs.names and (count := runs.table[name].nunique()):
            sizes.append(counted(count, name))
    statuses = Counter(runs.table["status"].astype(str)).most_common()
    allowed = [check for check, needs in unmet_needs(runs).items() if not needs]
    print(clean(f"{out}: {', '.join(sizes)}, read as {format}"))
    for line in (
        f"status: {', '.join(f'{status} {count}' for status, count in statuses)}",
        f"the table allows {', '.join(allowed) or 'no check by itself yet'}",
        *_unparsed(runs),
        *notes,
    ):
        print(f"  {clean(line)}")


def _unparsed(runs: "Runs") -> list[str]:
    """Where most answers are unparsed, examples say more than a count."""
    from coherence.report.wording import clean

    lines = []
    for kind, rows in _mostly_unparsed(runs).items():
        raw = rows[f"raw_{kind}"] if f"raw_{kind}" in rows.columns else rows.iloc[:0, 0]
        texts = [clean(str(text), limit=80) for text in dict.fromkeys(raw.dropna())]
        examples = f", such as {', '.join(map(repr, texts[:_EXAMPLES]))}" if texts else ""
        remedy = (
            "name the field of a scorer that finds them (--belief FIELD), or see --percent and "
            "--scale"
            if kind == "belief"
            else "name another field (--action FIELD), or see --actions"
        )
        lines.append(f"most {kind}s are missing or could not be read{examples}; {remedy}")
    return lines


def _mostly_unparsed(runs: "Runs") -> dict[str, "pd.DataFrame"]:
    """Return the rows whose beliefs, or whose actions, are unparsed, if these are most.

    Half of the answers unparsed is rarely the model's doing: it is the wrong field, percentages, or
    a run that failed.
    """
    table = runs.table
    asked = {"belief": len(runs)}
    unparsed = {"belief": table[table[runs.beliefs].isna().all(axis=1)]}
    if "raw_action" in runs.names:
        # Of a row that was not asked for an action there is no such text.
        asked["action"] = int(runs.asked_to_act.sum())
        unparsed["action"] = table[~runs.acted & runs.known("raw_action")]
    return {kind: rows for kind, rows in unparsed.items() if 2 * len(rows) > asked[kind]}
