"""``coherence reveal``: beliefs revealed by unfinished texts, beside stated answers and bets, on dice, coins, choices and preferences."""

import argparse
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import prepare_folder, remove_earlier

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.batteries.revealed.scenarios.setting import Setting
    from elicitation.store import AnswerStore

_CHECKED = ("runs.parquet", "results.json", "report.html")
_OWN = (
    r"(table|summary|scores|beliefs|influence|orders|stated|stated_errors|bets)\.csv|(outcomes|previous|orders)\.png"
    r"|runs\.parquet|results\.json|report\.html"
)
"""All that the command may write, but for the store of answers."""


@dataclass
class Battery:
    """Tables of what was asked, one of each kind per model."""

    beliefs: "list[pd.DataFrame]" = field(default_factory=list)
    stated: "list[pd.DataFrame]" = field(default_factory=list)
    bets: "list[pd.DataFrame]" = field(default_factory=list)
    runs: "list[pd.DataFrame]" = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of this command.
    """
    who = parser.add_argument_group("whose beliefs")
    who.add_argument(
        "--model",
        metavar="DIR",
        action="append",
        help="folder of a causal language model, as written by save_pretrained; repeat it to compare several",
    )
    who.add_argument(
        "--base", metavar="DIR", help="folder of a base model, to stand beside --instruct"
    )
    who.add_argument(
        "--instruct",
        metavar="DIR",
        help="folder of the instruction-tuned model; stated answers are its own",
    )
    who.add_argument(
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
    grid = parser.add_argument_group("grid", "852 settings without any of these")
    grid.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="NAME=A,B",
        help="keep settings whose scenario, variant, n, faces, bias, observation, ... is one of these; may be given several times",
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
    parser.add_argument(
        "--only-revealed",
        action="store_true",
        help="ask neither for stated answers nor for bets, and run no checks",
    )
    parser.add_argument(
        "--reps", type=int, default=5, metavar="N", help="actions drawn per bet (default: 5)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the simulated outcomes, the actions and the checks (default: 0)",
    )
    parser.add_argument(
        "--dtype",
        default="float32",
        choices=("auto", "float32", "bfloat16", "float16"),
        help="precision (default: float32)",
    )
    parser.add_argument(
        "--device", default="cpu", metavar="NAME", help="torch device, or auto (default: cpu)"
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        metavar="N",
        help="most texts per forward pass (default: what memory allows)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="threads of the model (default: torch's own choice)",
    )


def run(args: argparse.Namespace) -> int:
    """Read, measure, draw, check, write.

    Parameters
    ----------
    args : argparse.Namespace
        Options as declared by `add_arguments`.

    Returns
    -------
    int
        0, or 130 after Ctrl-C.
    """
    _check(args)
    settings = _settings(args)
    if args.questions is not None:
        from coherence.errors import InputError
        from elicitation.batteries.revealed.battery import questions_table

        table = questions_table(settings, only_revealed=args.only_revealed)
        try:
            table.to_csv(args.questions, index=False)
        except OSError as error:
            raise InputError(
                f"--questions must be a file that can be written; {args.questions} cannot: {error}. Choose another."
            ) from error
        counts = ", ".join(
            f"{n} {kind}"
            for kind, n in table.drop_duplicates("question")
            .groupby("kind", sort=False)
            .size()
            .items()
        )
        print(
            f"{args.questions}: {len(settings)} settings, {counts} questions; fill in 'probability' or 'answer'",
            file=sys.stderr,
        )
        return 0
    folder = prepare_folder(args.out)
    if args.answers is not None:
        _write(folder, _read(args, settings), args)
        return 0
    from elicitation.store import AnswerStore

    with AnswerStore(folder / "answers.sqlite") as store:
        try:
            battery = _ask(args, settings, store)
        except KeyboardInterrupt:
            print(
                f"\ncoherence reveal: interrupted; {len(store)} answers are kept in {store.path}. The same command resumes.",
                file=sys.stderr,
            )
            return 130
    _write(folder, battery, args)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raise for what can be known before anything is loaded."""
    from coherence.errors import InputError

    if args.questions is not None:
        unused = ("model", "base", "instruct", "answers", "out")
        if beside := [f"--{name}" for name in unused if getattr(args, name) is not None]:
            raise InputError(
                f"--questions writes the questions and stops, so that {', '.join(beside)} has no meaning beside it. Leave it out."
            )
        return
    ways = [
        args.model is not None,
        args.base is not None and args.instruct is not None,
        args.answers is not None,
    ]
    given = [
        args.model is not None,
        args.base is not None or args.instruct is not None,
        args.answers is not None,
    ]
    if sum(ways) != 1 or sum(given) != 1:
        raise InputError(
            "needed: --model DIR, or both --base DIR and --instruct DIR, or --answers FILE, and only one of these."
        )
    _folders(args)
    if args.out is None:
        raise InputError("--out DIR is missing. Name a folder.")
    if args.reps < 1 or args.seed < 0:
        raise InputError(
            f"--reps must be at least 1 and --seed at least 0; received {args.reps} and {args.seed}."
        )


def _folders(args: argparse.Namespace) -> dict[str, str]:
    """Return the folders of the models by the name of their source, or raise where two names are equal."""
    from coherence.errors import InputError

    if args.model is None:
        return {"base": args.base, "instruct": args.instruct}
    found: dict[str, str] = {}
    for folder in args.model:
        name = os.path.basename(os.path.abspath(folder))  # of a link its own name
        if name in found:
            raise InputError(
                f"--model folders must differ in their last name, which names the model; {found[name]} and {folder} are both {name!r}. "
                f"Rename one, or link to it by another name: ln -s {folder} other-name."
            )
        found[name] = folder
    return found


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
                f"--labels must be two labels with a slash between them; received {', '.join(args.labels)}."
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
        where.setdefault(name.strip(), []).extend(value.strip() for value in values.split(","))
    return select(settings, where)


def _ask(args: argparse.Namespace, settings: "list[Setting]", store: "AnswerStore") -> Battery:
    """Ask every model in turn; one is in memory at a time."""
    from coherence.cli.progress import answer_progress
    from elicitation.batteries.revealed.beliefs import reveal
    from elicitation.batteries.revealed.bets import ask_wagers, tabulate_bets, wagered
    from elicitation.batteries.revealed.reading import in_chat
    from elicitation.batteries.revealed.runs import tabulate_wagers
    from elicitation.batteries.revealed.stated import state
    from elicitation.models.local.causal import load_causal_model

    battery = Battery()
    for source, model_folder in _folders(args).items():
        model = load_causal_model(
            model_folder,
            batch_size=args.batch_size,
            chat=False,
            dtype=args.dtype,
            device=args.device,
            threads=args.threads,
        )
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
            if wagered(settings):
                with answer_progress(f"{source}, bets") as progress:
                    told, bets = ask_wagers(model, asked, settings, store, progress=progress)
                battery.bets.append(tabulate_bets(settings, bets, source=source))
                battery.runs.append(
                    tabulate_wagers(
                        settings, told, bets, model=source, reps=args.reps, seed=args.seed
                    )
                )
            del asked
        del model  # before the next one is loaded
    return battery


def _read(args: argparse.Namespace, settings: "list[Setting]") -> Battery:
    """Read what was elicited elsewhere, and say what cannot be made of it."""
    from elicitation.batteries.revealed.answer_file import beliefs_of, read_answers, stated_of
    from elicitation.batteries.revealed.bets import tabulate_bets
    from elicitation.batteries.revealed.runs import tabulate_wagers

    answers = read_answers(args.answers, settings)
    battery = Battery(beliefs=[beliefs_of(answers, settings)])
    if args.only_revealed:
        return battery
    battery.stated.append(stated_of(answers, settings))
    for source, own in answers.items():
        runs = tabulate_wagers(
            settings, own.beliefs, own.bets, model=source, reps=args.reps, seed=args.seed
        )
        battery.bets.append(tabulate_bets(settings, own.bets, source=source))
        battery.runs.append(runs)
        lonely = len(own.bets) - (runs["context"].nunique() if len(runs) else 0)
        if lonely:
            print(
                f"{lonely} bets have no belief in the wording 'standard' beside them, and are left out of the checks",
                file=sys.stderr,
            )
    return battery


def _write(folder: Path, battery: Battery, args: argparse.Namespace) -> None:
    """Write tables and figures, print the summary, and with a runs table the verdict."""
    from coherence.batteries.revealed.answer_scores import score_stated, score_wagers
    from coherence.batteries.revealed.belief_scores import (
        comparison_table,
        score_beliefs,
        summarise_scores,
    )
    from coherence.batteries.revealed.figures import write_figures
    from coherence.batteries.revealed.influences import order_preferences, previous_influences
    from coherence.batteries.revealed.text import (
        render_bets,
        render_distances,
        render_notes,
        render_stated,
    )

    beliefs, stated, bets, runs = map(
        _together, (battery.beliefs, battery.stated, battery.bets, battery.runs)
    )
    tables: dict[str, pd.DataFrame] = {}
    texts = []
    if stated is not None:
        tables |= {"stated": stated, "stated_errors": score_stated(stated)}
    if beliefs is not None:
        scores = score_beliefs(beliefs)
        summary = summarise_scores(scores)
        table = comparison_table(summary, tables.get("stated_errors"))
        influences, orders = previous_influences(beliefs), order_preferences(beliefs)
        tables |= {
            "beliefs": beliefs,
            "scores": scores,
            "summary": summary,
            "table": table,
            "influence": influences,
            "orders": orders,
        }
        texts += [render_distances(table), render_notes(scores, influences, orders)]
    if stated is not None:
        texts.append(render_stated(tables["stated_errors"]))
    if bets is not None:
        tables["bets"] = score_wagers(bets)
        texts.append(render_bets(tables["bets"]))
    filled = {f"{name}.csv": one for name, one in tables.items() if len(one)}
    remove_earlier(folder, _OWN, filled, [] if args.answers is None else [args.answers])
    for name, one in filled.items():
        one.to_csv(folder / name, index=False)
    written = list(filled)
    if beliefs is not None:
        written += [path.name for path in write_figures(beliefs, folder)]
    # Before the checks, which take longer: should one fail, what was measured is there.
    print("\n\n".join(texts))
    if runs is not None:
        print(f"\n{_check_coherence(runs, folder, args.seed)}")
        written += _CHECKED
    print(f"wrote {', '.join(written)} to {folder}", file=sys.stderr)


def _check_coherence(runs: "pd.DataFrame", folder: Path, seed: int) -> str:
    """Run the ordinary checks, write their report and return it as text."""
    from coherence.analysis.analyze import analyze
    from coherence.batteries.revealed.text import render_cautions
    from coherence.report.terminal import render_terminal
    from coherence.table.storage import write_runs

    write_runs(runs, folder / "runs.parquet")
    print("checking the coherence of beliefs and bets", file=sys.stderr)
    report = analyze(runs, rng=seed)
    (folder / "results.json").write_text(report.to_json(), encoding="utf-8")
    (folder / "report.html").write_text(report.to_html(), encoding="utf-8")
    cautions = render_cautions(runs)
    return render_terminal(report.units, color=False) + (f"\n\n{cautions}" if cautions else "")


def _together(tables: "list[pd.DataFrame]") -> "pd.DataFrame | None":
    """Return the tables below each other, or None if there is no row."""
    import pandas as pd

    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else None
