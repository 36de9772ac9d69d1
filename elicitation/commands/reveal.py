"""``coherence reveal``: beliefs revealed by unfinished texts, beside stated answers and bets.

The texts are about dice, coins, choices and preferences.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import prepare_folder
from coherence.cli.progress import answer_progress
from coherence.table.printable import counted, numbered
from elicitation.commands.hosted_options import is_hosted
from elicitation.commands.model_options import (
    add_model_options,
    add_store_options,
    ask_and_keep,
    load_causal,
)
from elicitation.commands.paper_option import add_paper_option, paper_folder
from elicitation.commands.reveal_hosted import ask_hosted, check_hosted
from elicitation.commands.reveal_results import Battery, write_battery

if TYPE_CHECKING:
    from elicitation.asking.store import AnswerStore
    from elicitation.batteries.revealed.scenarios.setting import Setting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model_options(parser, several=True, server=True)
    parser.add_argument(
        "--base", metavar="DIR", help="folder of a base model, to stand beside --instruct"
    )
    parser.add_argument(
        "--instruct",
        metavar="DIR",
        help="folder of the instruction-tuned model; stated answers are its own",
    )
    parser.add_argument(
        "--answers",
        metavar="FILE",
        help="questions that were asked elsewhere, filled in; needs no model",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder for tables, figures, runs table and report; made if it does not exist",
    )
    parser.add_argument(
        "--questions",
        metavar="FILE",
        help="write all questions as CSV, to be asked elsewhere, and stop",
    )
    add_paper_option(parser)
    _add_grid(parser)
    parser.add_argument(
        "--only-revealed",
        action="store_true",
        help="ask neither for stated answers nor for bets, and run no checks",
    )
    parser.add_argument(
        "--reps",
        type=int,
        default=5,
        metavar="N",
        help="actions drawn per bet, and answers of a hosted model per question (default: 5)",
    )
    parser.add_argument(
        "--max-new-tokens",
        type=int,
        metavar="N",
        help="cut of a hosted model's answers; one that thinks first needs thousands (default: 64)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the simulated outcomes, the actions and the checks (default: 0)",
    )
    add_store_options(parser, usual="DIR/answers.sqlite")


def _add_grid(parser: argparse.ArgumentParser) -> None:
    grid = parser.add_argument_group("grid", "852 settings without any of these")
    grid.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="NAME=A,B",
        help="keep settings whose scenario, variant, n, faces, bias, observation, ... is one of "
        "these; may be given several times",
    )
    grid.add_argument(
        "--faces", metavar="LIST", help="faces of the dice, from 2 to 100 (default: 4,6,8,10,12)"
    )
    grid.add_argument(
        "--labels",
        action="append",
        metavar="A/B",
        help="two labels to choose between, instead of Heads/Tails and Left/Right; repeatable",
    )
    grid.add_argument(
        "--extra",
        action="store_true",
        help="add settings with several earlier results, and Poisson counts",
    )


def run(args: argparse.Namespace) -> int:
    """Read, measure, draw, check, write."""
    _check(args)
    settings = _settings(args)
    if args.questions is not None:
        _write_questions(args, settings)
        return 0
    # Before the folder and the store are made: a name that is wrong leaves nothing behind.
    _require_models(args)
    folder, paper = prepare_folder(args.out), paper_folder(args)
    if args.answers is not None:
        battery = _read(args, settings)
        write_battery(folder, battery, seed=args.seed, inputs=[args.answers], paper=paper)
        return 0
    asked = ask_and_keep(args, folder / "answers.sqlite", lambda store: _ask(args, settings, store))
    if asked is None:
        return 130
    write_battery(folder, asked, seed=args.seed, paper=paper)
    return 0


def _write_questions(args: argparse.Namespace, settings: "list[Setting]") -> None:
    from coherence.errors import InputError
    from coherence.table.files import replacing
    from elicitation.batteries.revealed.battery import questions_table

    table = questions_table(settings, only_revealed=args.only_revealed)
    try:
        with replacing(Path(args.questions)) as temporary:
            table.to_csv(temporary, index=False)
    except InputError as error:
        raise InputError(
            f"--questions must be a file that can be written; {args.questions} cannot: {error}"
        ) from error
    numbers = table.drop_duplicates("question").groupby("kind", sort=False).size()
    counts = ", ".join(f"{number} {kind}" for kind, number in numbers.items())
    print(
        f"{args.questions}: {counted(len(settings), 'setting')}, {counts} questions; "
        "fill in 'probability' or 'answer'",
        file=sys.stderr,
    )


def _check(args: argparse.Namespace) -> None:
    """Raise for what can be known before anything is loaded."""
    from coherence.errors import InputError

    if args.questions is not None:
        unused = ("model", "base", "instruct", "answers", "out", "paper")
        if beside := [f"--{name}" for name in unused if getattr(args, name) is not None]:
            raise InputError(
                f"--questions writes the questions and stops, so that {', '.join(beside)} has no "
                "meaning beside it. Leave it out."
            )
        return
    # The pair counts as one way; half of it is none.
    paired = [args.base is not None, args.instruct is not None]
    single = [args.model is not None, args.answers is not None]
    if sum(single) + any(paired) != 1 or (any(paired) and not all(paired)):
        raise InputError(
            "needed: --model DIR, or both --base DIR and --instruct DIR, or --answers FILE, and "
            "only one of these."
        )
    check_hosted(args)
    _folders(args)
    if args.out is None:
        raise InputError("--out DIR is missing. Name a folder.")
    if args.reps < 1 or args.seed < 0:
        raise InputError(
            f"--reps must be at least 1 and --seed at least 0; received {args.reps} and "
            f"{args.seed}."
        )


def _folders(args: argparse.Namespace) -> dict[str, str]:
    """Return the folders of the models by the name of their source; raise for equal names."""
    from coherence.errors import InputError

    if args.model is None:
        return {"base": args.base, "instruct": args.instruct}
    if is_hosted(args):
        return {name: name for name in args.model}
    folders: dict[str, str] = {}
    for folder in args.model:
        # The last name, not the target of a link: linking is how two folders of one name are told
        # apart.
        name = os.path.basename(os.path.abspath(folder)).removesuffix(".gguf")
        if name in folders:
            raise InputError(
                "--model folders must differ in their last name, which names the model; "
                f"{folders[name]} and {folder} are both {name!r}. Rename one, or link to it by "
                f"another name: ln -s {folder} other-name."
            )
        folders[name] = folder
    return folders


def _require_models(args: argparse.Namespace) -> None:
    """Raise for a model of this machine or the hub that is not there."""
    from elicitation.models.local.sources import locate

    if args.answers is None and not is_hosted(args):
        for model in _folders(args).values():
            locate(model, revision=args.revision)


def _settings(args: argparse.Namespace) -> "list[Setting]":
    from coherence.errors import InputError
    from elicitation.batteries.revealed.scenarios.grid import extra_settings, select, standard_grid

    options: dict[str, object] = {}
    if args.faces is not None:
        words = [word.strip() for word in args.faces.split(",")]
        if not all(word.isdigit() for word in words):
            raise InputError(
                f"--faces must be whole numbers with commas between them; received {args.faces!r}."
            )
        options["faces"] = [int(word) for word in words]
    if args.labels is not None:
        pairs = [tuple(label.strip() for label in word.split("/")) for word in args.labels]
        if any(len(pair) != 2 for pair in pairs):
            raise InputError(
                "--labels must be two labels with a slash between them; "
                f"received {', '.join(args.labels)}."
            )
        options["labels"] = pairs
    settings = standard_grid(**options)  # type: ignore[arg-type]
    if args.extra:
        settings += extra_settings()
    where: dict[str, list[str]] = {}
    for condition in args.where:
        name, equals, values = condition.partition("=")
        if not equals:
            raise InputError(f"--where needs NAME=VALUE; received {condition!r}.")
        # A name given twice widens its choice; different names narrow the grid.
        where.setdefault(name.strip(), []).extend(value.strip() for value in values.split(","))
    return select(settings, where)


def _ask(args: argparse.Namespace, settings: "list[Setting]", store: "AnswerStore") -> Battery:
    """Ask every model in turn; one is in memory at a time."""
    from elicitation.batteries.revealed.beliefs import reveal
    from elicitation.batteries.revealed.bets import ask_wagers, tabulate_bets, wagered
    from elicitation.batteries.revealed.reading import in_chat
    from elicitation.batteries.revealed.runs import tabulate_wagers
    from elicitation.batteries.revealed.stated import state

    battery = Battery()
    if is_hosted(args):
        for name in args.model:
            ask_hosted(args, name, settings, store, battery)
        return battery
    for source, folder in _folders(args).items():
        # Texts are continued, not answered: without a chat template, whether there is one or not.
        model = load_causal(args, folder, chat=False)
        with answer_progress(f"{source}, beliefs") as progress:
            battery.beliefs.append(reveal(model, settings, store, source=source, progress=progress))
        if not args.only_revealed:
            asked = in_chat(model)
            # The stated answers of a base model to questions with options are no use to compare
            # with; bets are its actions all the same.
            if args.base is None or source == "instruct":
                with answer_progress(f"{source}, stated answers") as progress:
                    battery.stated.append(
                        state(asked, settings, store, source=source, progress=progress)
                    )
            # Only rolls and flips have events to bet on.
            if wagered(settings):
                with answer_progress(f"{source}, bets") as progress:
                    beliefs, bets = ask_wagers(model, asked, settings, store, progress=progress)
                battery.bets.append(tabulate_bets(settings, bets, source=source))
                battery.runs.append(
                    tabulate_wagers(
                        settings, beliefs, bets, model=source, reps=args.reps, seed=args.seed
                    )
                )
            del asked
        del model  # before the next one is loaded
    return battery


def _read(args: argparse.Namespace, settings: "list[Setting]") -> Battery:
    """Read what was elicited elsewhere, and say what cannot be made of it."""
    from elicitation.batteries.revealed.answer_file import beliefs_of, read_answer_file, stated_of
    from elicitation.batteries.revealed.bets import tabulate_bets
    from elicitation.batteries.revealed.runs import tabulate_wagers

    answers = read_answer_file(args.answers, settings)
    battery = Battery(beliefs=[beliefs_of(answers, settings)])
    if args.only_revealed:
        return battery
    battery.stated.append(stated_of(answers, settings))
    for source, filled in answers.items():
        runs = tabulate_wagers(
            settings, filled.beliefs, filled.bets, model=source, reps=args.reps, seed=args.seed
        )
        battery.bets.append(tabulate_bets(settings, filled.bets, source=source))
        battery.runs.append(runs)
        # Bets and beliefs of an answered file may be of different settings.
        lonely = len(filled.bets) - (runs["context"].nunique() if len(runs) else 0)
        if lonely:
            print(
                f"{counted(lonely, 'bet has', 'bets have')} no belief in the wording 'standard' "
                f"beside {numbered(lonely, 'it', 'them')}, and {numbered(lonely, 'is', 'are')} "
                "left out of the checks",
                file=sys.stderr,
            )
    return battery
