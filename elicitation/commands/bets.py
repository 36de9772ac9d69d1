"""``coherence bets``: whether a model thinks in bets.

Asks it, or scores answers; trains models on bets, and tests what carries over.
"""

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from coherence.cli.progress import answer_progress
from coherence.cli.reading import is_log
from elicitation.commands.battery import (
    SETTINGS,
    Battery,
    Results,
    add_battery_options,
    add_paper_option,
    check_options,
    run_battery,
)
from elicitation.commands.bets_questions import MODALITIES, PAPER, VALUES, scored_questions
from elicitation.commands.looking import Ahead, fingerprints_of, token_counter
from elicitation.commands.model_options import (
    add_device_options,
    is_hosted,
    load_local,
    name_in_store,
)
from elicitation.commands.settings import add_with_settings, take_settings

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore
    from elicitation.commands.battery import Asked
    from elicitation.models.hosted.model import HostedModel

    Tables = tuple[pd.DataFrame, pd.DataFrame]  # questions and answers

_WRITTEN = (
    r"(accuracy|ladder|models)\.csv|(runs|ladder_runs)\.parquet|models\.svg"
    r"|(accuracy|ladder)_[1-9][0-9]*\.svg"
)
_TERMS = ("items", "chance", "stake", "payout")
_TRAINING = ("items", "device", "threads", "seed", "resume", "out")
_TAKEN = {
    "questions": (*_TERMS, "out"),
    "train": _TRAINING,
    "transfer": (*_TRAINING, "paper"),
}
"""Options that each action shares with the command."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_with_settings(parser, declare, SETTINGS)


def declare(parser: argparse.ArgumentParser, rare: argparse.ArgumentParser) -> None:
    """Declare the options; `rare` takes those that ``--set`` says, in a study file the same."""
    _add_score(parser, rare)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    _add_action(
        actions,
        "questions",
        "write the questions to a CSV file, to be asked elsewhere",
        _add_questions,
    )
    _add_action(
        actions, "train", "fine-tune a multiple-choice model on one kind of question", _add_train
    )
    _add_action(actions, "transfer", "train on each kind of bet, test on every kind", _add_transfer)


def _add_score(parser: argparse.ArgumentParser, rare: argparse.ArgumentParser) -> None:
    """Declare the options of the command without an action."""
    add_battery_options(
        parser,
        rare,
        kind="multiple-choice or causal model",
        # The actions have a --model of their own, of which there is one.
        dest="models",
        answers="answers of one or several models instead: .csv or .parquet, see docs/bets.md, or "
        "a log of our task in Inspect (.eval)",
        seed="seed of a hosted model's answers, and of the outcomes in the runs table of ladders",
        room="cut of a hosted model's answers; one that thinks first needs thousands (default: 64)",
    )
    parser.add_argument(
        "--questions",
        metavar="FILE",
        help="the questions that --answers is about, as 'coherence bets questions' wrote them",
    )
    _add_items(parser)
    _add_terms(parser)
    _add_scoring(parser)


def _add_scoring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rule",
        default="side",
        choices=("side", "outcome"),
        help="a thing changes hands if the side bet on comes up (default), or in any case",
    )
    parser.add_argument(
        "--pairs",
        default="disjoint",
        choices=("disjoint", "crossed"),
        help="pairs of things in runs.parquet: some of which no two share a thing (default), "
        "or all",
    )
    parser.add_argument(
        "--likelihood",
        default="total",
        choices=("total", "token"),
        help="a causal model chooses by the probability of an option in total (default) or per "
        "token",
    )
    parser.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="of a hosted model's answers (default: 0, the most probable one)",
    )


def _add_action(actions: Any, name: str, summary: str, add: Any) -> None:
    add(
        actions.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            allow_abbrev=False,
        )
    )


# An action shares options with the command; it has no defaults of its own (SUPPRESS), so that what
# was said before its name stands.
def _add_items(parser: argparse.ArgumentParser, **default: Any) -> None:
    parser.add_argument(
        "--items",
        metavar="FILE",
        help="things of your own: .csv with columns item, value, split and perhaps price",
        **default,
    )


def _add_terms(parser: argparse.ArgumentParser, **default: Any) -> None:
    parser.add_argument(
        "--chance",
        type=float,
        metavar="P",
        help="chance of the side that wins (default: 0.5)",
        **default,
    )
    parser.add_argument(
        "--stake",
        type=float,
        metavar="X",
        help="what a bet costs, in the unit of the prices (default: 20)",
        **default,
    )
    parser.add_argument(
        "--payout",
        type=float,
        metavar="B",
        help="what is paid on top of a stake that comes back, per unit of it (default: 0); bets "
        "then state all amounts, as they do with --chance or --stake",
        **default,
    )


def _add_questions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="file to write: .csv or .parquet"
    )
    _add_items(parser, default=argparse.SUPPRESS)
    _add_terms(parser, default=argparse.SUPPRESS)


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        metavar="DIR",
        help="folder of the model to begin with, as written by save_pretrained",
    )
    add_device_options(parser, default=argparse.SUPPRESS)
    parser.add_argument(
        "--from-scratch",
        action="store_true",
        help="begin with a small model of random weights that is taught values first",
    )
    _add_items(parser, default=argparse.SUPPRESS)
    parser.add_argument(
        "--batch-size",
        # Not the --batch-size before the action, which is of a model that is asked.
        dest="update_size",
        type=int,
        metavar="N",
        help="questions per update (default: 32)",
    )
    parser.add_argument(
        "--learning-rate",
        type=float,
        metavar="RATE",
        help="of AdamW, constant (default: 5e-5; from scratch: 2e-3)",
    )
    parser.add_argument(
        "--goal",
        type=float,
        metavar="SHARE",
        help="stop at this share of right development answers (default: 0.9)",
    )
    parser.add_argument(
        "--epochs",
        type=int,
        metavar="N",
        help="stop after so many epochs in any case (default: 20; from scratch: 60)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="seed of the training (default: 0)",
    )
    parser.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=argparse.SUPPRESS,
        help="go on from the last epoch of a training that was cut short (default)",
    )


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--modality",
        required=True,
        choices=(*MODALITIES, *VALUES),
        metavar="NAME",
        help=f"what to train on: {', '.join(MODALITIES)}, or value questions: {', '.join(VALUES)}",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="model folder to write")
    _add_recipe(parser)


def _add_transfer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        required=True,
        metavar="DIR",
        help="folder for the trained models, the table and the figure",
    )
    add_paper_option(parser, default=argparse.SUPPRESS)
    _add_recipe(parser)


def run(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print; or write questions, train, or test transfer."""
    take_settings(args, declare)
    if args.action is None:
        return run_battery(args, BATTERY)
    _only_for_scores(args)
    if args.action == "questions":
        from elicitation.commands.bets_questions import write_questions

        return write_questions(args)
    from elicitation.commands.bets_training import train, transfer

    return train(args) if args.action == "train" else transfer(args)


def _only_for_scores(args: argparse.Namespace) -> None:
    """Raise for an option before an action that has no use for it."""
    from coherence.errors import InputError

    scoring = argparse.ArgumentParser()
    _add_score(scoring, scoring)
    for name, usual in vars(scoring.parse_args([])).items():
        # A value that was typed and equals the default changes nothing, and passes.
        if name not in _TAKEN[args.action] and getattr(args, name) != usual:
            option = ("model" if name == "models" else name).replace("_", "-")
            raise InputError(
                f"--{option} does not belong to 'coherence bets {args.action}'. "
                "Options of an action stand behind its name."
            )


def _check(args: argparse.Namespace) -> None:
    """Raise for options that do not go together."""
    from coherence.errors import InputError

    check_options(args)
    hosted = is_hosted(args)
    for name in ("temperature", "max_new_tokens"):
        if not hosted and getattr(args, name) is not None:
            raise InputError(
                f"--{name.replace('_', '-')} belongs to hosted models; of a folder options are "
                "scored, and nothing is drawn. Leave it out."
            )
    if hosted and args.likelihood != "total":
        raise InputError(
            "--likelihood needs the model's files; a hosted model answers in words. Leave it out."
        )
    terms = any(getattr(args, name) is not None for name in _TERMS)
    if args.questions is not None and (args.answers is None or terms):
        raise InputError(
            "--questions belongs to --answers, without --items, --chance, --stake and --payout. "
            "Leave it out to use the questions that come with the package."
        )
    log = args.answers is not None and is_log(args.answers)
    if log and (terms or args.questions is not None):
        raise InputError(
            f"the log {args.answers} holds its questions. Leave out --questions, --items, "
            "--chance, --stake and --payout."
        )


def _ahead(args: argparse.Namespace, name: str, place: str) -> Ahead:
    """Return what a model would be asked."""
    names, questions = (name_in_store(args, place),), scored_questions(args)
    if is_hosted(args):
        from elicitation.batteries.bets.words import bet_draws

        drawn = bet_draws(questions, **_drawing(args))
        return Ahead(names, drawn, kept_as=lambda: fingerprints_of(args, place))
    from elicitation.batteries.bets.models import PORTION, option_questions

    return Ahead(
        names,
        option_questions(questions),
        portion=PORTION,
        count=token_counter(args, place),
        kept_as=lambda: fingerprints_of(args, place),
    )


def _drawing(args: argparse.Namespace) -> "dict[str, Any]":
    """Return how answers in words are drawn."""
    from elicitation.batteries.bets.words import ROOM

    return {
        "temperature": 0.0 if args.temperature is None else args.temperature,
        "seed": args.seed,
        "max_new_tokens": ROOM if args.max_new_tokens is None else args.max_new_tokens,
    }


def _read(args: argparse.Namespace) -> "Tables":
    """Read answers, and the questions that they are about."""
    from coherence.batteries.battery import read_answer_table

    if is_log(args.answers):
        from elicitation.commands.inspect_logs import read_inspect_bets

        return read_inspect_bets(args.answers)
    if args.questions is not None:
        return read_answer_table(args.questions), read_answer_table(args.answers)
    questions, answers = scored_questions(args), read_answer_table(args.answers)
    # Answers by name alone would else be scored against other odds or other things.
    _check_known(questions, answers)
    return questions, answers


def _check_known(questions: "pd.DataFrame", answers: "pd.DataFrame") -> None:
    """Raise for answers to questions from other things or terms, and say which options lack."""
    from coherence.errors import InputError

    if "question" not in answers.columns:
        return  # said where answers are joined to questions
    unknown = answers["question"].astype(str)[~answers["question"].isin(questions["question"])]
    if not len(unknown):
        return
    # Questions on values depend on things alone.
    values = questions[questions["kind"] == "value"]
    if unknown.str.startswith(tuple(f"{name}-" for name in values["template"].unique())).any():
        missing = "--items"
    elif answers["question"].isin(values["question"]).any():
        missing = "--chance, --stake and --payout"
    else:
        missing = "--items, --chance, --stake and --payout"
    raise InputError(
        f"{len(unknown)} of {len(answers)} answers are to questions that are not asked here, "
        f"the first to {unknown.iloc[0]!r}. Say {missing} as for the questions that were answered, "
        "no more and no less, or name their file with --questions."
    )


def _ask(args: argparse.Namespace, models: "Asked", store: "AnswerStore") -> "Tables":
    """Ask one model after the other, with one in memory at a time."""
    import gc

    import pandas as pd

    questions, tables = scored_questions(args), []
    for name, model in models.items():
        tables.append(_ask_model(args, model, questions, store).assign(model=name))
        # What refers to itself would keep the weights in memory until some later collection.
        gc.collect()
    return questions, pd.concat(tables, ignore_index=True)


def _ask_model(
    args: argparse.Namespace,
    model: "str | HostedModel",
    questions: "pd.DataFrame",
    store: "AnswerStore",
) -> "pd.DataFrame":
    if isinstance(model, str):
        from elicitation.batteries.bets.models import score_choices

        local = load_local(args, model)
        with answer_progress(local.name) as progress:
            return score_choices(
                local, questions, likelihood=args.likelihood, store=store, progress=progress
            )
    from elicitation.batteries.bets.words import choose_in_words

    with answer_progress(model.name) as progress:
        return choose_in_words(
            model,
            questions,
            store,
            keep_going=args.keep_going,
            progress=progress,
            **_drawing(args),
        )


def _score(args: argparse.Namespace, asked: "Tables") -> Results:
    import pandas as pd

    from coherence.batteries.bets import figures
    from coherence.batteries.bets.runs import belief_runs, ladder_runs
    from coherence.batteries.bets.scores import compare_models, score_bets
    from coherence.batteries.bets.tables import bet_tables, bets_report
    from coherence.plots.style import save_plot

    questions, answers = asked
    scores = score_bets(questions, answers, rule=args.rule)
    comparison = compare_models(scores.answers, rule=args.rule)
    # One model has nobody to be compared with.
    several = "model" in comparison and comparison["model"].nunique() > 1
    ladders = [
        fit.table.assign(model=model, modality=modality)
        for (model, modality), fit in scores.ladders.items()
    ]
    tables = {
        "answers.csv": answers,
        "accuracy.csv": scores.accuracy,
        # Pairs that share a thing are no independent contexts; --pairs crossed keeps them.
        "runs.parquet": belief_runs(scores.answers, disjoint=args.pairs == "disjoint"),
        "ladder_runs.parquet": ladder_runs(scores.answers, rng=args.seed),
        "models.csv": comparison if several else comparison[:0],
        "ladder.csv": pd.concat(ladders, ignore_index=True) if ladders else pd.DataFrame(),
    }
    text, paper = bets_report(scores, comparison), bet_tables(scores.accuracy)
    results = Results(tables, text, paper=paper)

    def draw(name: str, plot: Any, table: pd.DataFrame, size: tuple[float, float]) -> None:
        results.files[name] = partial(save_plot, partial(plot, table), size=size)

    # Names of models are not used in file names: they may come from a file of answers.
    for number, (_, rows) in enumerate(scores.accuracy.groupby("model", sort=False), start=1):
        size = figures.accuracy_size(rows)
        draw(f"accuracy_{number}.svg", figures.plot_accuracies, rows, size)
    if several:
        draw("models.svg", figures.plot_models, comparison, figures.models_size(comparison))
    for number, fit in enumerate(scores.ladders.values(), start=1):
        draw(f"ladder_{number}.svg", figures.plot_ladder, fit.table, (4.5, 4.5))
    return results


BATTERY = Battery(
    title="Thinking in bets",
    written=_WRITTEN,
    earlier=PAPER,
    check=_check,
    ahead=_ahead,
    read=_read,
    ask=_ask,
    score=_score,
)
