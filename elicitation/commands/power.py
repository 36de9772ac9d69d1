"""``coherence power``: how many contexts a study needs, and what they cost."""

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from coherence.checks import CHECKS
from coherence.cli.progress import step_progress
from coherence.cli.reading import (
    add_column_arguments,
    add_form_arguments,
    pilot_options,
    read_whole,
    reading_words,
)
from coherence.cli.run_options import add_jobs, add_seed, comma_separated, require_seed, workers

if TYPE_CHECKING:
    from bayesnets.population import NetworkPopulation
    from coherence.agents import Agent
    from coherence.analysis.power_result import PowerResult
    from coherence.statistics.evaluation import EvaluationData

_FILES = r"power\.(csv|parquet|json|svg)|needed\.csv"
_ALWAYS = tuple(f"power.{ending}" for ending in ("csv", "parquet", "json", "svg"))
_OF_FILES = ("phrases", "positive", "records", "min_records")
_OF_TASKS = ("variable", "phrases", "records", "min_records")
_OF_PILOTS = ("model", "reference")
_COSTS = {
    "tokens-in": "tokens of one prompt",
    "tokens-out": "tokens of one answer, thinking included",
    "price-in": "price of a million tokens of prompts",
    "price-out": "price of a million tokens of answers",
    "per-minute": "answers a minute",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "agent",
        nargs="?",
        metavar="AGENT",
        help="name of the agent that would answer ('coherence simulate --list'; default: rational)",
    )
    _add_fitted(parser)
    _add_task(parser)
    _add_grid(parser)
    _add_groups(parser)
    _add_search(parser)
    costs = parser.add_argument_group("costs", "what the answers cost")
    for option, holds in _COSTS.items():
        costs.add_argument(f"--{option}", type=float, metavar="X", help=holds)
    costs.add_argument(
        "--prompts-per-rep",
        type=int,
        metavar="N",
        help="prompts for one repetition of one context (default: what the "
        "checks need; what a session asks is counted by 'coherence elicit --dry-run')",
    )
    add_seed(parser, "with an equal one a larger grid keeps the numbers of a smaller")
    add_jobs(parser)
    add_column_arguments(parser, of_pilot=True)
    add_form_arguments(parser)
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder for power.csv, power.parquet, power.json and power.svg",
    )


def _add_fitted(parser: argparse.ArgumentParser) -> None:
    """Declare what is known of who would answer."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter of the agent; may be given several times",
    )
    like = parser.add_argument_group("a model that was asked", "instead of a named agent")
    like.add_argument("--like", metavar="RUNS", help="runs table: plan for its beliefs and choices")
    like.add_argument("--model", metavar="MODEL", help="model of the table, if it has several")
    like.add_argument(
        "--reference", metavar="PROMPT", help="wording of the beliefs, as for analyze"
    )


def _add_task(parser: argparse.ArgumentParser) -> None:
    """Declare the cases that would be asked about."""
    task = parser.add_argument_group(
        "the cases of a network",
        "drawn as elicit draws them; the agent states the posterior of all findings of a case but "
        "one, which is drawn anew for each case, and --signal is the weight of that one in choices",
    )
    task.add_argument(
        "--task",
        metavar="NAME_OR_FILE",
        help="network that supplies the cases, such as asia, or one of your own, as for elicit; "
        "with --like task of the table, if it has several",
    )
    task.add_argument(
        "--variable",
        metavar="NAME",
        help="variable asked about, --target of elicit (default: the usual one of the task)",
    )
    task.add_argument(
        "--positive",
        metavar="LABEL",
        help="state whose probability is asked for: of the table as for analyze, of a network of "
        "your own as for elicit",
    )
    task.add_argument("--phrases", metavar="FILE", help="words of a network of your own, .toml")
    task.add_argument(
        "--records", metavar="FILE", help="records that a network of your own was fitted to"
    )
    task.add_argument(
        "--min-records",
        type=int,
        metavar="N",
        help="records that must show the evidence of a case (default: 100; 0 takes any case)",
    )


def _add_grid(parser: argparse.ArgumentParser) -> None:
    """Declare the studies to simulate."""
    parser.add_argument(
        "--contexts",
        metavar="N,N",
        help="numbers of contexts (default: 25,50,100,200,400; with --group-size 10,20,40,80 "
        "groups)",
    )
    parser.add_argument(
        "--reps",
        metavar="N,N",
        help="repetitions per question (default: 5; 1 with --policies)",
    )
    parser.add_argument(
        "--signal",
        metavar="X,X",
        help="weights of what is not stated: choices follow the stated belief plus so much of what "
        "the exact posterior adds (default: 0.1,0.2,0.4; 0 is always there)",
    )
    parser.add_argument(
        "--planted",
        metavar="NAME",
        help="parameter of the agent that --signal sets, such as peak, iterated_bias or "
        "hidden_signal, what is known of theta itself (default: weight)",
    )
    parser.add_argument(
        "--checks",
        metavar="A,B",
        help=f"checks, of {', '.join(CHECKS)} (default: the one that looks for what is planted, "
        "sufficiency for a weight)",
    )
    parser.add_argument(
        "--state",
        default="both",
        metavar="NAME",
        help="the state that actions are compared with where the exact posterior is known: exact, "
        "realised ('with theta') or both, which takes up to twice the time (default: both)",
    )
    parser.add_argument(
        "--policies",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="answers give the probability of each action, as forced and exact ones do "
        "(default: drawn actions; with --like what the table has)",
    )


def _add_groups(parser: argparse.ArgumentParser) -> None:
    """Declare what contexts share."""
    groups = parser.add_argument_group("shared templates", "contexts that share more than a belief")
    groups.add_argument(
        "--group-size", type=int, metavar="N", help="contexts of one group, such as of a template"
    )
    groups.add_argument(
        "--group-taste",
        type=float,
        metavar="SD",
        help="of the utility shocks that a group shares (default: 1)",
    )
    groups.add_argument(
        "--group-missed",
        type=float,
        metavar="SD",
        help="of the log-odds of the state that beliefs of a group miss (default: 0.5)",
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    """Declare the power that is wanted, and what the simulations rest on."""
    parser.add_argument(
        "--target",
        type=float,
        metavar="POWER",
        help="search for the number of contexts with this power, such as 0.8",
    )
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help="most contexts that come into question for --target (default: 5000)",
    )
    parser.add_argument(
        "--simulations",
        type=int,
        default=500,
        metavar="N",
        help="simulated studies of each size (default: 500)",
    )
    parser.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help="random draws behind each p-value (default: 999; 199 for cmi)",
    )
    parser.add_argument(
        "--margin",
        type=float,
        metavar="X",
        help="count studies that show the effect to lie within X, such as 0.05, not rejections",
    )
    parser.add_argument(
        "--alpha", type=float, default=0.05, metavar="X", help="level of each test (default: 0.05)"
    )


def _numbers(text: str, option: str, kind: Callable[[str], Any], what: str) -> list[Any]:
    """Read numbers with commas between them."""
    from coherence.errors import InputError

    values = []
    for part in comma_separated(text):
        try:
            values.append(kind(part))
        except ValueError:
            raise InputError(
                f"{option} must be {what} with commas between them; received {part!r}. "
                f"Write, for example, {option} {'50,100' if kind is int else '0.1,0.2'}."
            ) from None
    return values


def _who(
    args: argparse.Namespace,
) -> "tuple[Agent | EvaluationData | NetworkPopulation, str]":
    """Find who would answer: a named agent, on the cases of a task or not, or one like a model."""
    from coherence.errors import InputError

    of_tasks = _stray(args, _OF_TASKS)
    if args.like is None:
        from coherence.agents import named_agent
        from coherence.cli.simulate import agent_parameters

        words = reading_words(pilot_options(args))
        if stray := _stray(args, _OF_PILOTS) or (words and words[0].partition("=")[0]):
            raise InputError(f"{stray} belongs to --like RUNS. Add that, or leave it out.")
        if args.task is None and of_tasks:
            raise InputError(f"{of_tasks} belongs to --task NAME. Add that, or leave it out.")
        if args.task is None and args.positive is not None:
            raise InputError(
                "--positive belongs to --like RUNS or --task NAME. Add one, or leave it out."
            )
        agent = named_agent(args.agent or "rational")
        changes = agent_parameters(args.set, agent)
        changed = "".join(f", {name}={value:g}" for name, value in changes.items())
        agent = agent.with_parameters(**changes)
        if args.task is None:
            return agent, f"agent {agent.name}{changed}"
        population, task = _on_cases(args, agent)
        return population, f"agent {agent.name}{changed} on cases of {task}"
    if of_tasks:
        raise InputError(
            f"{of_tasks} belongs to a network as --task; with --like RUNS the cases are those of "
            "the table. Leave one of them out."
        )
    if args.agent is not None or args.set:
        raise InputError(
            "--like takes the agent from a table; received the agent "
            f"{args.agent or 'of --set'!r} as well. Leave one of them out."
        )
    from coherence.analysis.pilot import read_pilot

    pilot, evaluation = read_pilot(
        read_whole(pilot_options(args)),
        task=args.task,
        model=args.model,
        positive=args.positive,
        reference=args.reference,
    )
    return pilot, f"an agent like {evaluation or 'the table'}"


def _stray(args: argparse.Namespace, names: tuple[str, ...]) -> str:
    """Return the first of some options that was given, empty for none."""
    given = (name for name in names if getattr(args, name) is not None)
    return next((f"--{name.replace('_', '-')}" for name in given), "")


def _on_cases(args: argparse.Namespace, agent: "Agent") -> "tuple[NetworkPopulation, str]":
    """Put an agent before the cases of a task."""
    from bayesnets.population import NetworkPopulation
    from coherence.errors import InputError
    from elicitation.questions.tasks import Task, is_network_file, load_task

    own = {name: getattr(args, name) for name in _OF_FILES}
    if not is_network_file(args.task) and (stray := _stray(args, _OF_FILES)):
        raise InputError(
            f"{stray} goes with a network of your own, a file that ends in .bif, .xml, .xmlbif, "
            f".bifxml or .json; --task is {args.task!r}. Leave it out."
        )
    task = load_task(args.task, target=args.variable, **own)
    if not isinstance(task, Task):
        raise InputError(
            f"--task must be a network, whose exact posteriors draw the states; {args.task!r} is a "
            "data set. Ask some of its cases, and plan with --like RUNS."
        )
    population = NetworkPopulation(
        task.network,
        task.target,
        target_state=task.phrases.positive(task.target),
        agent=agent,
        policies=bool(args.policies),
        min_records=args.min_records,
    )
    return population, task.name


def _write(result: "PowerResult", name: str) -> None:
    """Write all files of the result, and remove those of an earlier call."""
    from coherence.cli.folders import in_place, new_files, prepare_folder
    from coherence.table.writing import write_table

    folder = prepare_folder(name)
    where = f"{folder}{in_place(folder, _FILES)}"
    texts = {"power.json": result.to_json(), "power.svg": result.to_svg()}
    tables = {"power.csv": result.table, "power.parquet": result.table}
    if not result.needed.empty:
        tables["needed.csv"] = result.needed
    with new_files(folder, _FILES) as new:
        for file, table in tables.items():
            write_table(table, new / file)
        for file, text in texts.items():
            (new / file).write_text(text, encoding="utf-8")
    print(f"wrote {', '.join(sorted([*tables, *texts]))} to {where}", file=sys.stderr)


def _size_of_groups(args: argparse.Namespace) -> None:
    """Take a number of ``--group``, which was the size of groups before it named a column."""
    if args.group is not None and args.group.isdecimal():
        print("--group N is now --group-size N; --group names a column of --like", file=sys.stderr)
        args.group_size, args.group = int(args.group), None


def run(args: argparse.Namespace) -> int:
    """Simulate, print, write."""
    from coherence.errors import InputError

    require_seed(args)
    if args.limit is not None and args.target is None:
        raise InputError("--limit belongs to --target. Add that, or leave the limit out.")
    _size_of_groups(args)
    whole = "whole numbers"
    grid: dict[str, Any] = {}
    shared = {}
    for name in ("taste", "missed"):
        value = getattr(args, f"group_{name}")
        if value is not None:
            if args.group_size is None:
                raise InputError(
                    f"--group-{name} belongs to --group-size N. Add that, or leave it out."
                )
            shared[name] = value
    if args.reps is not None:
        grid["n_reps"] = _numbers(args.reps, "--reps", int, whole)
    if args.contexts is not None:
        grid["n_contexts"] = _numbers(args.contexts, "--contexts", int, whole)
    if args.signal is not None:
        grid["signal"] = _numbers(args.signal, "--signal", float, "numbers")
    if args.checks is not None:
        grid["check"] = comma_separated(args.checks)
    if args.limit is not None:
        grid["limit"] = args.limit
    if args.out is not None:
        from coherence.cli.folders import prepare_folder

        prepare_folder(args.out, writes=_ALWAYS)
    from coherence.analysis.costs import Costs
    from coherence.analysis.populations import Groups
    from coherence.analysis.power import power

    costs = {name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in _COSTS}
    with step_progress(" studies", first="planning") as progress, workers(args):
        agent, name = _who(args)
        result = power(
            agent,
            **grid,
            name=name,
            planted=args.planted,
            state=args.state,
            policies=args.policies,
            group=None if args.group_size is None else Groups(args.group_size, **shared),
            n_simulations=args.simulations,
            n_draws=args.draws,
            alpha=args.alpha,
            margin=args.margin,
            target=args.target,
            costs=Costs(**costs, prompts_per_rep=args.prompts_per_rep),
            n_jobs=args.n_jobs,
            rng=args.seed,
            progress=progress,
        )
    # Before printing: a reader who leaves early (`| head`) must not cost the files.
    if args.out is not None:
        _write(result, args.out)
    print(result)
    return 0
