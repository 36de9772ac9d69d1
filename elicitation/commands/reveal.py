"""``coherence reveal``: beliefs revealed by unfinished texts, beside stated answers and bets.

The texts are about dice, coins, choices and preferences.
"""

import argparse
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.progress import answer_progress
from coherence.table.printable import counted, numbered
from elicitation.commands.battery import (
    SETTINGS,
    Battery,
    Results,
    add_battery_options,
    check_options,
    run_battery,
)
from elicitation.commands.looking import Ahead, fingerprints_of, token_counter
from elicitation.commands.model_options import connect_to, is_hosted, load_causal, name_in_store
from elicitation.commands.settings import add_with_settings, take_settings

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore
    from elicitation.batteries.revealed.scenarios.setting import Setting
    from elicitation.batteries.revealed.served import Drawing
    from elicitation.commands.battery import Asked
    from elicitation.models.hosted.model import HostedModel

_WRITTEN = (
    r"(table|summary|scores|beliefs|influence|orders|stated|stated_errors|misses|bets)\.csv"
    r"|(outcomes|previous|orders|misses)\.png|runs\.parquet|results\.json|report\.html"
)


@dataclass
class Asking:
    """Tables of what was asked, one of each kind per model."""

    beliefs: "list[pd.DataFrame]" = field(default_factory=list)
    stated: "list[pd.DataFrame]" = field(default_factory=list)
    bets: "list[pd.DataFrame]" = field(default_factory=list)
    runs: "list[pd.DataFrame]" = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_with_settings(parser, declare, SETTINGS)


def declare(parser: argparse.ArgumentParser, rare: argparse.ArgumentParser) -> None:
    """Declare the options; `rare` takes those that ``--set`` says, in a study file the same."""
    add_battery_options(
        parser,
        rare,
        chat=False,
        answers="questions that were asked elsewhere, filled in; needs no model",
        seed="seed of the simulated outcomes, the actions and the checks",
        room="cut of a hosted model's answers; one that thinks first needs thousands (default: 64)",
    )
    parser.add_argument(
        "--base", metavar="DIR", help="folder of a base model, to stand beside --instruct"
    )
    parser.add_argument(
        "--instruct",
        metavar="DIR",
        help="folder of the instruction-tuned model; stated answers are its own",
    )
    parser.add_argument(
        "--questions",
        metavar="FILE",
        help="write all questions as CSV, to be asked elsewhere, and stop",
    )
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
    take_settings(args, declare)
    if args.questions is not None:
        _write_questions(args)
        return 0
    return run_battery(args, BATTERY)


def _check(args: argparse.Namespace) -> None:
    """Raise for options that do not go together."""
    from coherence.errors import InputError

    check_options(args, reps=1)
    if args.max_new_tokens is not None and not is_hosted(args):
        raise InputError(
            "--max-new-tokens belongs to hosted models; of a folder probabilities are read, "
            "and nothing is drawn. Leave it out."
        )
    _settings(args)  # a grid that is none is said before folders are made


def _write_questions(args: argparse.Namespace) -> None:
    from coherence.errors import InputError
    from coherence.table.files import replacing
    from elicitation.batteries.revealed.questions import questions_table

    unused = ("model", "base", "instruct", "answers", "out", "paper", "dry_run")
    said = [name for name in unused if getattr(args, name) not in (None, False)]
    if beside := [f"--{name.replace('_', '-')}" for name in said]:
        raise InputError(
            f"--questions writes the questions and stops, so that {', '.join(beside)} has no "
            "meaning beside it. Leave it out."
        )
    settings = _settings(args)
    table = questions_table(settings, only_revealed=args.only_revealed)
    # Answers are filled into this file, and a second call must not cost them.
    with replacing(Path(args.questions), keep=True, option="--questions") as temporary:
        table.to_csv(temporary, index=False)
    numbers = table.drop_duplicates("question").groupby("kind", sort=False).size()
    counts = ", ".join(f"{number} {kind}" for kind, number in numbers.items())
    print(
        f"{args.questions}: {counted(len(settings), 'setting')}, {counts} questions; "
        "fill in 'probability' or 'answer'",
        file=sys.stderr,
    )


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


def _ahead(args: argparse.Namespace, name: str, place: str) -> Ahead:
    """Return what a model would be asked."""
    from coherence.errors import InputError
    from elicitation.batteries.revealed.questions import (
        belief_questions,
        stated_questions,
        wager_questions,
    )

    settings, stored = _settings(args), name_in_store(args, place)
    stated = [question for setting in settings for question in stated_questions(setting)]
    beliefs, bets = wager_questions(settings)
    if args.only_revealed:
        stated, beliefs, bets = [], [], []
    if not is_hosted(args):
        # Texts are continued without a chat template, questions with options go through it.
        texts = [each.read.asked for each in [*belief_questions(settings), *beliefs]]
        options = [each.read.asked for each in [*(stated if _states(args, name) else []), *bets]]
        count = token_counter(args, place, plain=set(texts))
        kept_as = partial(fingerprints_of, args, place, continuing=True)
        return Ahead((stored,), [*texts, *options], count=count, kept_as=kept_as)
    from elicitation.batteries.revealed.served import letter_draws, listed, worded

    drawn = letter_draws(stated + bets, _drawing(args))
    words = belief_questions(worded(settings))
    try:
        continuing = name_in_store(args, place, continuing=True)
    except InputError:  # it answers in chats alone
        words = []
    if not drawn and not words:
        raise InputError(
            f"--only-revealed leaves nothing to ask of {name}: beliefs about numbers need the "
            "model's files, those about words a server that continues texts."
        )
    names = (stored, continuing) if words else (stored,)
    kept_as = partial(fingerprints_of, args, place, continuing=bool(words))
    return Ahead(names, drawn, perhaps=list(map(listed, words)), kept_as=kept_as)


def _states(args: argparse.Namespace, source: str) -> bool:
    # The stated answers of a base model to questions with options are no use to compare with; bets
    # are its actions all the same.
    return args.base is None or source == "instruct"


def _drawing(args: argparse.Namespace) -> "Drawing":
    from elicitation.batteries.revealed.served import ROOM, Drawing

    room = ROOM if args.max_new_tokens is None else args.max_new_tokens
    return Drawing(args.reps, args.seed, room, args.keep_going)


def _ask(args: argparse.Namespace, models: "Asked", store: "AnswerStore") -> Asking:
    """Ask every model in turn; one is in memory at a time."""
    from elicitation.batteries.revealed.questions import (
        ask_wagers,
        reveal,
        state,
        tabulate_bets,
        wagered,
    )
    from elicitation.batteries.revealed.reading import in_chat
    from elicitation.batteries.revealed.runs import tabulate_wagers

    settings, battery = _settings(args), Asking()
    for source, place in models.items():
        if not isinstance(place, str):
            _ask_hosted(args, place, settings, store, battery)
            continue
        # Texts are continued, not answered: without a chat template, whether there is one or not.
        model = load_causal(args, place, chat=False)
        asked = None if args.only_revealed else in_chat(model)
        with answer_progress(f"{source}, beliefs") as progress:
            battery.beliefs.append(reveal(model, settings, store, source=source, progress=progress))
        if asked is not None:
            if _states(args, source):
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
        del asked, model  # before the next one is loaded
    return battery


def _ask_hosted(
    args: argparse.Namespace,
    model: "HostedModel",
    settings: "list[Setting]",
    store: "AnswerStore",
    battery: Asking,
) -> None:
    """Put to a hosted model what it can answer, and say before what it cannot."""
    from elicitation.batteries.revealed.questions import tabulate_bets, wagered
    from elicitation.batteries.revealed.served import (
        bet_in_words,
        reveal_by_tokens,
        state_in_words,
    )

    name = model.name
    # First what may end in an error: nothing is asked before all is known.
    revealing = _continuing(args, name, settings)
    if revealing is not None:
        with answer_progress(f"{name}, beliefs") as progress:
            battery.beliefs.append(
                reveal_by_tokens(revealing, settings, store, source=name, progress=progress)
            )
    if args.only_revealed:
        return
    drawing = _drawing(args)
    with answer_progress(f"{name}, stated answers") as progress:
        battery.stated.append(
            state_in_words(model, settings, store, drawing, source=name, progress=progress)
        )
    if wagered(settings):
        with answer_progress(f"{name}, bets") as progress:
            bets = bet_in_words(model, settings, store, drawing, progress=progress)
        battery.bets.append(tabulate_bets(settings, bets, source=name))


def _continuing(
    args: argparse.Namespace, name: str, settings: "list[Setting]"
) -> "HostedModel | None":
    """Return the model as it continues texts, or None where that tells nothing; say why not."""
    from coherence.errors import InputError
    from elicitation.batteries.revealed.served import worded
    from elicitation.models.hosted.replies import NOT_OFFERED, HostedError

    n_worded = len(worded(settings))
    missing = [
        "Beliefs about numbers need the model's files: the first tokens that a server lists do not "
        "tell 1 from 10 or 1.5, and without these beliefs bets have no runs table."
    ]
    model = None
    if n_worded:
        try:
            model = connect_to(args, name, continuing=True)
        except InputError as error:
            missing.append(f"Beliefs about words need completions, and {error}")
        except HostedError as error:
            # The model answers in chats, as was seen before: a path that is not there is no outage.
            if error.status not in NOT_OFFERED:
                raise
            missing.append(
                "Beliefs about words need completions, which the server does not offer "
                f"({error.said})."
            )
    if model is not None and not model.n_likely_tokens:
        missing.append(
            "Beliefs about words need log-probabilities, which the server does not give."
        )
        model = None
    said = missing[1:] if n_worded == len(settings) else missing
    if args.only_revealed and model is None:
        raise InputError(" ".join(["--only-revealed leaves nothing to ask.", *missing]))
    for line in said:
        print(f"coherence reveal: {line}", file=sys.stderr)
    return model


def _read(args: argparse.Namespace) -> Asking:
    """Read what was elicited elsewhere, and say what cannot be made of it."""
    from elicitation.batteries.revealed.answer_file import beliefs_of, read_answer_file, stated_of
    from elicitation.batteries.revealed.questions import tabulate_bets
    from elicitation.batteries.revealed.runs import tabulate_wagers

    settings = _settings(args)
    answers = read_answer_file(args.answers, settings)
    battery = Asking(beliefs=[beliefs_of(answers, settings)])
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


def _score(args: argparse.Namespace, battery: Asking) -> Results:
    from coherence.batteries.revealed import scores as measures
    from coherence.batteries.revealed import tables as shown
    from coherence.batteries.revealed.figures import draw_misses, misses_figure, write_figures

    beliefs, stated, bets, runs = map(
        _together, (battery.beliefs, battery.stated, battery.bets, battery.runs)
    )
    tables: dict[str, pd.DataFrame] = {}
    if stated is not None:
        tables |= {"stated": stated, "stated_errors": measures.score_stated(stated)}
    errors = tables.get("stated_errors")
    if beliefs is not None:
        scores = measures.score_beliefs(beliefs)
        summary = measures.summarise_scores(scores)
        tables |= {
            "beliefs": beliefs,
            "scores": scores,
            "summary": summary,
            "table": measures.comparison_table(summary, errors),
            "influence": measures.previous_influences(beliefs),
            "orders": measures.order_preferences(beliefs),
        }
    if stated is not None and beliefs is not None:
        tables["misses"] = measures.compare_misses(beliefs, stated)
    if bets is not None:
        tables["bets"] = measures.score_wagers(bets)
    misses = tables.get("misses")
    distances = tables.get("summary")
    total = None if misses is None else misses[misses["group"] == measures.ALL]
    of_sources = ("scores", "influence", "orders", "stated_errors", "bets")
    texts = [
        shown.render_tables(shown.revealed_tables(distances, errors, total)),
        "" if misses is None else shown.render_misses(misses),
        shown.render_sources(*map(tables.get, of_sources)),
    ]
    results = Results(
        {f"{name}.csv": table for name, table in tables.items()},
        "\n\n".join(filter(None, texts)),
        paper=shown.revealed_tables(distances, errors, misses),
    )
    if beliefs is not None:
        results.figures = partial(write_figures, beliefs)
    if misses is not None and len(misses):
        results.files["misses.png"] = misses_figure(tables["beliefs"], misses).savefig
        # Drawn anew: what lays a figure out changes it each time that it is saved.
        results.draw = partial(draw_misses, tables["beliefs"], misses)
    if runs is not None:
        results.last = partial(_check_coherence, runs, seed=args.seed)
    return results


def _check_coherence(runs: "pd.DataFrame", folder: Path, *, seed: int) -> str:
    """Run the ordinary checks, write their report and return it as text."""
    from coherence.analysis.analyze import analyze
    from coherence.report.terminal import render_report
    from coherence.table.writing import write_runs

    # First, so that a check that fails leaves the table to look at.
    write_runs(runs, folder / "runs.parquet")
    print("checking the coherence of beliefs and bets", file=sys.stderr)
    report = analyze(runs, rng=seed)
    (folder / "results.json").write_text(report.to_json(), encoding="utf-8")
    (folder / "report.html").write_text(report.to_html(), encoding="utf-8")
    return f"\n{render_report(report.evaluations, full=True)}"


def _together(tables: "list[pd.DataFrame]") -> "pd.DataFrame | None":
    """Return the tables below each other, or None if there is no row."""
    import pandas as pd

    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else None


BATTERY = Battery(
    title="Revealed beliefs",
    written=_WRITTEN,
    earlier=r"revealed-[a-z]+(-\d+)?\.(md|tex|csv)|misses\.(md|tex|csv|svg|pdf)",
    check=_check,
    ahead=_ahead,
    read=_read,
    ask=_ask,
    score=_score,
)
