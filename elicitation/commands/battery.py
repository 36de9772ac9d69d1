"""One skeleton of command for the batteries: ask or read, score, write, print.

A battery says how answers are read, asked for and scored (`Battery`); which options say so, what
goes together, whose answers are kept where, and how a folder is written stands here. Results of an
earlier call in the folders are replaced, and an error leaves no folder behind.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from coherence.cli.folders import in_place, new_files, no_empty_folders, prepare_folder
from elicitation.commands.looking import Ahead, add_looking_options, check_prices, print_ahead
from elicitation.commands.model_options import (
    add_model_options,
    add_store_options,
    answer_store,
    connect_to,
    is_hosted,
)

if TYPE_CHECKING:
    import pandas as pd

    from coherence.report.tables import PaperFigure, PaperTable
    from elicitation.asking.store import AnswerStore
    from elicitation.models.hosted.model import HostedModel

    Asked = Mapping[str, str | HostedModel]

Answers = TypeVar("Answers")
INDEXES = r"paper\.(md|tex)"
_ALWAYS = ("paper.md", "paper.tex")
SETTINGS = "docs/eliciting.md#settings"
"""The page that lists what ``--set`` takes."""


@dataclass
class Results:
    """What a battery found, and what is written and printed of it."""

    tables: "dict[str, pd.DataFrame]"  # by the name of the file; those without rows are not written
    text: str  # for the terminal
    # what else is written: name of the file -> what writes it
    files: "dict[str, Callable[[Path], object]]" = field(default_factory=dict)
    figures: "Callable[[Path], object] | None" = None  # writes further ones into a folder
    paper: "Sequence[PaperTable]" = ()
    draw: "Callable[[Path], Sequence[PaperFigure]]" = lambda folder: ()
    # what comes last, since it takes long or may fail: writes files, and returns lines to print
    last: "Callable[[Path], str] | None" = None


@dataclass(frozen=True)
class Battery(Generic[Answers]):
    """How the answers of one battery are read, asked for and scored."""

    title: str
    written: str  # pattern of all files that the command may write, but for the store
    earlier: str  # pattern of the tables of the paper
    check: Callable[[argparse.Namespace], None]  # raises for options that do not go together
    ahead: Callable[[argparse.Namespace, str, str], Ahead]  # of a model: its name here, its place
    read: Callable[[argparse.Namespace], Answers]
    ask: "Callable[[argparse.Namespace, Asked, AnswerStore], Answers]"
    score: Callable[[argparse.Namespace, Answers], Results]


def add_battery_options(
    parser: argparse.ArgumentParser,
    rare: argparse.ArgumentParser,
    *,
    answers: str,
    several: bool = False,
    chat: bool = True,
    kind: str = "causal language model",
    dest: str = "model",
    seed: str,
    room: str,
) -> None:
    """Declare who is asked or whose answers are read, where results go; `rare` as elsewhere."""
    add_model_options(parser, kind=kind, dest=dest, several=True, server=True, chat=chat, rare=rare)
    many: dict[str, Any] = {"action": "extend", "nargs": "+"} if several else {}
    parser.add_argument("--answers", metavar="FILE", help=answers, **many)
    parser.add_argument(
        "--out", metavar="DIR", help="folder for tables and figures, made if need be"
    )
    add_paper_option(parser)
    parser.add_argument("--max-new-tokens", type=int, metavar="N", help=room)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=f"{seed} (default: 0)")
    add_store_options(parser, usual="DIR/answers.sqlite")
    add_looking_options(parser.add_argument_group("looking without asking"), rare)


def add_paper_option(parser: argparse.ArgumentParser, **default: Any) -> None:
    """Declare ``--paper``."""
    parser.add_argument(
        "--paper",
        metavar="DIR",
        help="folder for the tables as the paper lays them out, as Markdown, LaTeX and CSV",
        **default,
    )


def models_named(args: argparse.Namespace) -> "list[str] | None":
    """Return what ``--model`` names."""
    given = vars(args)
    named: list[str] | None = given["models" if "models" in given else "model"]
    return named


def check_options(args: argparse.Namespace, **least: int) -> None:
    """Raise for what can be known before anything is read or loaded."""
    from coherence.errors import InputError

    pair = [vars(args)[name] for name in ("base", "instruct") if name in vars(args)]
    ways = [models_named(args) is not None, args.answers is not None, any(pair)]
    if sum(ways) != 1 or (any(pair) and not all(pair)):
        beside = "or both --base DIR and --instruct DIR, " if pair else ""
        raise InputError(
            f"needed: --model DIR to ask a model, {beside}or --answers FILE to score answers, and "
            f"{'only one of these' if pair else 'not both'}. See 'coherence {args.command} --help'."
        )
    check_prices(args)
    if args.dry_run and args.answers is not None:
        raise InputError(
            "--dry-run is for --model; the answers of --answers are there already. Leave it out."
        )
    if args.server is not None and models_named(args) is None:
        raise InputError("--server needs --model, the model's name there. Leave --server out.")
    if args.out is None:
        raise InputError("--out DIR is missing. Name a folder for tables and figures.")
    folder_of(args.out)
    for name, limit in {"seed": 0, "batch_size": 1, "max_new_tokens": 1, **least}.items():
        value = getattr(args, name)
        if value is not None and value < limit:
            option = name.replace("_", "-")
            raise InputError(f"--{option} must be at least {limit}; received {value}.")


def folder_of(path: str) -> Path:
    """Return the folder for results, which is made later; raise for a file of that name."""
    from coherence.errors import InputError

    out = Path(path)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder; {out} is a file. Choose another name.")
    return out


def places_of(args: argparse.Namespace) -> dict[str, str]:
    """Return what `--model`, or `--base` and `--instruct`, name, by what results call it.

    Folders may have one name: as much of the path as tells them apart is added.
    """
    from coherence.batteries.battery import distinct_names
    from coherence.errors import InputError

    named = models_named(args)
    if named is None:
        return {"base": args.base, "instruct": args.instruct}
    if is_hosted(args):
        if len(set(named)) < len(named):
            raise InputError(f"--model must name different models; received {', '.join(named)}.")
        return dict(zip(named, named, strict=True))
    # The last name, not the target of a link: linking tells two folders of one name apart.
    names = [os.path.basename(os.path.abspath(place)).removesuffix(".gguf") for place in named]
    if len(set(names)) < len(names):
        names = distinct_names([Path(place) for place in named])
    return dict(zip(names, named, strict=True))


def find_models(args: argparse.Namespace) -> "Asked":
    """Return hosted models, or places of local ones, by name.

    What is wrong with any of them shows before the first is asked.
    """
    from elicitation.models.local.sources import find_source

    places = places_of(args)
    if is_hosted(args):
        return {name: connect_to(args, place) for name, place in places.items()}
    for place in places.values():
        find_source(place, revision=args.revision)
    return dict(places)


def run_battery(args: argparse.Namespace, battery: Battery[Answers]) -> int:
    """Ask or read, score, write and print; or only look."""
    battery.check(args)
    if args.dry_run:
        _look(args, battery)
        return 0
    with no_empty_folders(args.out, args.paper):
        _ask_and_write(args, battery)
    return 0


def _ask_and_write(args: argparse.Namespace, battery: Battery[Answers]) -> None:
    if args.answers is not None:
        # Before folders are made: a table with errors leaves none behind.
        results = battery.score(args, battery.read(args))
        inputs = [args.answers] if isinstance(args.answers, str) else list(args.answers)
        inputs += [path for name in ("questions", "items") if (path := getattr(args, name, None))]
        paper, folder = paper_folder(args), prepare_folder(args.out)
    else:
        models = find_models(args)
        # --out is known to be no file: whatever is wrong with --paper leaves no empty folder.
        paper, folder, inputs = paper_folder(args), prepare_folder(args.out), []
        with answer_store(args, store_of(args)) as store:
            answers = battery.ask(args, models, store)
        results = battery.score(args, answers)
    write_results(folder, battery.written, results, inputs, paper, battery.title, battery.earlier)


def _look(args: argparse.Namespace, battery: Battery[Answers]) -> None:
    from coherence.report.wording import clean

    places = places_of(args)
    for number, (name, place) in enumerate(places.items()):
        if len(places) > 1:
            print(f"{'' if number == 0 else chr(10)}model      {clean(name)}")
        print_ahead(args, battery.ahead(args, name, place), store_of(args))


def store_of(args: argparse.Namespace) -> str:
    """Return where answers are kept."""
    return args.store or os.path.join(args.out, "answers.sqlite")


def write_results(
    folder: Path,
    names: str,
    results: Results,
    inputs: Sequence[str],
    paper: Path | None,
    title: str,
    earlier: str,
) -> None:
    """Write tables, figures and the paper's tables, and print the summary."""
    from coherence.table.writing import write_runs, write_table

    where = f"{folder}{in_place(folder, names)}"
    failure: Exception | None = None
    with new_files(folder, names, inputs) as new:
        # A file without rows would look like a result.
        for name in (name for name, table in results.tables.items() if len(table)):
            # Answers are read again, and stay as the model gave them.
            save = write_runs if name == "answers.csv" else write_table
            save(results.tables[name], new / name)
        for name, write in results.files.items():
            write(new / name)
        if results.figures is not None:
            results.figures(new)
        print(results.text)
        if results.last is not None:
            try:
                print(results.last(new))
            except OSError:  # of the files
                raise
            except Exception as error:  # of a check: what was measured is there all the same
                failure = error
        written = sorted(path.name for path in new.iterdir())
    print(f"wrote {', '.join(written)} to {where}", file=sys.stderr)
    write_paper_tables(paper, title, results.paper, results.draw, earlier=earlier)
    if failure is not None:
        raise failure


def paper_folder(args: argparse.Namespace) -> Path | None:
    """Make the folder before anything is asked; None where the option was not given."""
    return None if args.paper is None else prepare_folder(args.paper, "--paper", _ALWAYS)


def write_paper_tables(
    folder: Path | None,
    title: str,
    tables: "Sequence[PaperTable]",
    draw: "Callable[[Path], Sequence[PaperFigure]]" = lambda folder: (),
    *,
    earlier: str,
) -> None:
    """Write tables and indexes where a folder was named, and say so."""
    if folder is None:
        return
    from coherence.report.tables import write_document

    where = f"{folder}/paper.md{in_place(folder, INDEXES)}"
    with new_files(folder, f"{earlier}|{INDEXES}") as new:
        write_document(new, title, tables, draw(new))
    print(f"wrote the tables of the paper, see {where}", file=sys.stderr)
