"""``coherence bets``: does a model think in bets? Asks it, or scores answers; trains models on bets, and tests what carries over."""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from coherence.bet_scores import BetScores
    from elicitation.finetuning import Progress, Recipe
    from elicitation.scenarios.bet_items import Items

_MODALITIES = ("coin", "dice", "card")
_VALUES = ("boolean-expensive", "boolean-valuable", "choice-expensive", "choice-valuable")
_NONE = "–"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of this command.
    """
    _add_model(parser, "folder of a multiple-choice or causal model that is asked")
    parser.add_argument("--answers", metavar="FILE", help="answers of one or several models instead: .csv or .parquet, see docs/bets.md")
    parser.add_argument("--questions", metavar="FILE", help="the questions that --answers is about, as 'coherence bets questions' wrote them")
    parser.add_argument("--out", metavar="DIR", help="folder for tables and figures, made if need be")
    _add_items(parser)
    parser.add_argument(
        "--rule", default="side", choices=("side", "outcome"), help="a thing changes hands if the side bet on comes up (default), or in any case"
    )  # fmt: skip
    parser.add_argument("--likelihood", default="total", choices=("total", "token"),
                        help="a causal model chooses by the probability of an option in total (default) or per token")  # fmt: skip
    parser.add_argument("--dtype", default="auto", choices=("auto", "float32", "bfloat16", "float16"), help="precision (default: auto)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the outcomes in the runs table of ladders (default: 0)")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    _add_action(actions, "questions", "write the questions to a CSV file, to be asked elsewhere", _add_questions)
    _add_action(actions, "train", "fine-tune a multiple-choice model on one kind of question", _add_train)
    _add_action(actions, "transfer", "train on each kind of bet, test on every kind", _add_transfer)


def _add_action(actions: Any, name: str, summary: str, add: Any) -> None:
    add(actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".", allow_abbrev=False))


def _add_model(parser: argparse.ArgumentParser, told: str) -> None:
    parser.add_argument("--model", metavar="DIR", help=f"{told}, as written by save_pretrained")
    parser.add_argument("--device", default="auto", metavar="NAME", help="torch device (default: an accelerator if there is one)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of the model (default: torch's own choice)")


def _add_items(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", metavar="FILE", help="things of your own: .csv with columns item, value, split and perhaps price")


def _add_questions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="FILE", help="file to write: .csv or .parquet")
    _add_items(parser)


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    _add_model(parser, "folder of the model to begin with")
    parser.add_argument("--from-scratch", action="store_true", help="begin with a small model of random weights that is taught values first")
    _add_items(parser)
    parser.add_argument("--batch-size", type=int, metavar="N", help="questions per update (default: 32)")
    parser.add_argument("--learning-rate", type=float, metavar="RATE", help="of AdamW, constant (default: 5e-5; from scratch: 2e-3)")
    parser.add_argument("--goal", type=float, metavar="SHARE", help="stop at this share of right development answers (default: 0.9)")
    parser.add_argument("--epochs", type=int, metavar="N", help="stop after so many epochs in any case (default: 20; from scratch: 60)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the training (default: 0)")
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True,
                        help="go on from the last epoch of a training that was cut short (default)")  # fmt: skip


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--modality", required=True, choices=(*_MODALITIES, *_VALUES), metavar="NAME",
                        help=f"what to train on: {', '.join(_MODALITIES)}, or value questions: {', '.join(_VALUES)}")  # fmt: skip
    parser.add_argument("--out", required=True, metavar="DIR", help="model folder to write")
    _add_recipe(parser)


def _add_transfer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the trained models, the table and the figure")
    _add_recipe(parser)


def run(args: argparse.Namespace) -> int:
    """Ask or read, score, write and print; or write questions, train, or test transfer.

    Parameters
    ----------
    args : argparse.Namespace
        Options as declared by `add_arguments`.

    Returns
    -------
    int
        0, or 130 after Ctrl-C.
    """
    if args.action == "questions":
        return _write_questions(args)
    if args.action == "train":
        return _train(args)
    if args.action == "transfer":
        return _transfer(args)
    return _score(args)


def _items(args: argparse.Namespace) -> "Items":
    from elicitation.scenarios.bet_items import default_items, read_items

    return default_items() if args.items is None else read_items(args.items)


def _questions(items: "Items") -> "pd.DataFrame":
    """Return all questions for a score: dev and test, values and bets, and the ladder of a coin."""
    import pandas as pd

    from elicitation.scenarios.bets import bet_questions, ladder_questions, value_questions

    splits = [split for split in ("dev", "test") if items.of("high", split)]
    tables = [value_questions(items, splits=splits), bet_questions(items, splits=splits), ladder_questions(items, split=splits[-1])]
    return pd.concat(tables, ignore_index=True)


def _write_questions(args: argparse.Namespace) -> int:
    from coherence.storage import write_runs

    questions = _questions(_items(args))
    write_runs(questions, args.out)
    print(f"{args.out}: {len(questions)} questions", file=sys.stderr)
    return 0


def _score(args: argparse.Namespace) -> int:
    from coherence.bet_scores import score_bets
    from coherence.errors import InputError

    if (args.model is None) == (args.answers is None):
        raise InputError("needed: --model DIR to ask a model, or --answers FILE to score answers, and not both. See 'coherence bets --help'.")
    if args.out is None:
        raise InputError("--out DIR is missing. Name a folder for tables and figures.")
    if args.questions is not None and (args.answers is None or args.items is not None):
        raise InputError("--questions belongs to --answers, without --items. Leave it out to use the questions that come with the package.")
    if args.seed < 0:
        raise InputError(f"--seed must be at least 0; received {args.seed}.")
    out = _folder(args.out)
    questions = _questions(_items(args)) if args.questions is None else _read_table(args.questions)
    answers = _read_table(args.answers) if args.model is None else _ask(args, questions)
    scores = score_bets(questions, answers, rule=args.rule)
    out.mkdir(parents=True, exist_ok=True)
    written = _write(out, answers, scores, seed=args.seed)
    print(_report(scores))
    print(f"{out}: {', '.join(written)}", file=sys.stderr)
    return 0


def _folder(path: str) -> Path:
    from coherence.errors import InputError

    out = Path(path)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder; {out} is a file. Choose another name.")
    return out


def _read_table(path: str) -> "pd.DataFrame":
    import pandas as pd

    from coherence.errors import InputError

    source = Path(path)
    if source.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{source}: the file's ending must be .csv or .parquet.")
    if not source.is_file():
        raise InputError(f"{source}: no such file.")
    try:
        # Only an empty cell is missing: a thing may well be called "NA", and "none" is a role.
        return pd.read_parquet(source) if source.suffix.lower() == ".parquet" else pd.read_csv(source, keep_default_na=False, na_values=[""])
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise InputError(f"{source}: the file cannot be read ({str(error).splitlines()[0]}). Check that it is complete.") from error


def _ask(args: argparse.Namespace, questions: "pd.DataFrame") -> "pd.DataFrame":
    from tqdm import tqdm

    from elicitation.scenarios.bet_models import load_chooser, score_choices

    model = load_chooser(args.model, device=args.device, dtype=args.dtype, threads=args.threads)
    with tqdm(total=len(questions), unit="question", file=sys.stderr, disable=None) as bar:

        def show(done: int, total: int) -> None:
            bar.update(done - bar.n)
            if bar.disable:
                print(f"{done} of {total} questions", file=sys.stderr)

        return score_choices(model, questions, likelihood=args.likelihood, progress=show)


def _write(out: Path, answers: "pd.DataFrame", scores: "BetScores", *, seed: int) -> list[str]:
    """Write tables and figures; return their names."""
    from coherence.bet_runs import belief_runs, ladder_runs
    from coherence.report.bets_plots import accuracy_size, plot_accuracies, plot_ladder, save_figure
    from coherence.storage import write_runs

    ladders = [fit.table.assign(model=model, modality=modality) for (model, modality), fit in scores.ladders.items()]
    tables = {"answers.csv": answers, "accuracy.csv": scores.accuracy}
    tables |= {"runs.parquet": belief_runs(scores.answers), "ladder_runs.parquet": ladder_runs(scores.answers, rng=seed)}
    if ladders:
        import pandas as pd

        tables["ladder.csv"] = pd.concat(ladders, ignore_index=True)
    written = [name for name, table in tables.items() if len(table)]
    for name in written:
        write_runs(tables[name], out / name)
    # Names of models are not used in file names: they may come from a file of answers.
    for number, (_, rows) in enumerate(scores.accuracy.groupby("model", sort=False), start=1):
        save_figure(partial(plot_accuracies, rows), out / f"accuracy_{number}.svg", size=accuracy_size(rows))
        written.append(f"accuracy_{number}.svg")
    for number, fit in enumerate(scores.ladders.values(), start=1):
        save_figure(partial(plot_ladder, fit.table), out / f"ladder_{number}.svg", size=(4.5, 4.5))
        written.append(f"ladder_{number}.svg")
    return written


def _report(scores: "BetScores") -> str:
    """Return the accuracies of every model as lines."""
    from coherence.report.columns import aligned
    from coherence.report.terminal import clean, format_pvalue

    lines: list[str] = []
    header = ["question", "truth", "method", "n", "right", "95% interval", "chance", "p exact", "p z test"]
    for model, rows in scores.accuracy.groupby("model", sort=False):
        cells = [header]
        for row in rows.to_dict("records"):
            numbers = [str(row["n"]), _percent(row["accuracy"]), _between(row, ".0%"), _percent(row["chance"])]
            numbers += [format_pvalue(row["p_exact"]), format_pvalue(row["p_z"])]
            cells.append([clean(row["template"]), row["truth"], row["method"], *numbers])
        lines += [f"{clean(model)}", *aligned(cells, right=range(3, 9)), ""]
    for (model, modality), fit in scores.ladders.items():
        lines += [f"{clean(model)}, ladder of a {clean(modality)}: probabilities that choices act on"]
        cells = [["stated", "bets taken", "implied", "95% interval", "status"]]
        for row in fit.table.to_dict("records"):
            implied = _NONE if math.isnan(row["implied"]) else f"{row['implied']:.3f}"
            cells.append([f"{row['stated']:g}", f"{row['share']:.0%}", implied, _between(row, ".3f"), row["status"]])
        lines += [*aligned(cells, right=range(4)), ""]
    return "\n".join([*lines, *(f"note: {clean(note)}" for note in scores.notes)]).rstrip()


def _percent(share: float) -> str:
    return _NONE if math.isnan(share) else f"{share:.1%}"


def _between(row: "Mapping[Any, Any] | pd.Series[Any]", form: str) -> str:
    return _NONE if math.isnan(row["low"]) else f"{row['low']:{form}} to {row['high']:{form}}"


def _recipe(args: argparse.Namespace) -> "Recipe":
    from dataclasses import replace

    from elicitation.finetuning import Recipe
    from elicitation.scenarios.bet_models import SCRATCH

    told = {"batch_size": args.batch_size, "learning_rate": args.learning_rate, "goal": args.goal, "max_epochs": args.epochs}
    return replace(SCRATCH if args.from_scratch else Recipe(), **{name: value for name, value in told.items() if value is not None})


def _base(args: argparse.Namespace, items: "Items", out: Path, show: "Progress") -> Path:
    """Return the folder of the model to begin with, made if it is to be."""
    from coherence.errors import InputError

    if (args.model is None) == (not args.from_scratch):
        raise InputError("needed: --model DIR, or --from-scratch, and not both.")
    if args.model is not None:
        return Path(args.model)
    from elicitation.scenarios.bet_models import make_value_reader

    make_value_reader(out / "values", items, seed=args.seed, progress=show)
    return out / "values"


def _fit(args: argparse.Namespace, items: "Items", base: Path, modality: str, out: Path, recipe: "Recipe", show: "Progress") -> dict[str, Any]:
    from coherence.bet_scores import right_roles
    from elicitation.finetuning import fine_tune
    from elicitation.scenarios.bet_models import lessons_from, with_values
    from elicitation.scenarios.bets import bet_questions, value_questions

    lessons = {}
    for split in ("train", "dev"):
        if modality in _VALUES:
            questions = value_questions(items, splits=[split], templates=[modality])
        else:
            questions = bet_questions(items, splits=[split], modalities=[modality])
        lessons[split] = lessons_from(questions, right_roles(questions))
    if args.from_scratch:
        lessons["train"] = with_values(lessons["train"], items)
    return fine_tune(
        base, out, lessons["train"], lessons["dev"], recipe=recipe, seed=args.seed, device=args.device, resume=args.resume, progress=show
    )


@contextmanager
def _training(args: argparse.Namespace) -> "Iterator[Progress]":
    """Show the batches of an epoch as a bar, and one line per epoch where there is no terminal."""
    from tqdm import tqdm

    if args.threads is not None:
        import importlib

        importlib.import_module("torch").set_num_threads(args.threads)
    with tqdm(unit="batch", file=sys.stderr, disable=None) as bar:

        def show(epoch: int, batch: int, total: int, loss: float) -> None:
            if batch == 1:
                bar.reset(total)
                bar.set_description(f"epoch {epoch}")
            bar.update(1)
            if bar.disable and batch == total:
                print(f"epoch {epoch}: loss {loss:.3f}", file=sys.stderr)

        yield show


def _train(args: argparse.Namespace) -> int:
    items, out, recipe = _items(args), _folder(args.out), _recipe(args)
    with _training(args) as show:
        record = _fit(args, items, _base(args, items, out, show), args.modality, out, recipe, show)
    print(_course(args.modality, record))
    print(f"{out}: a model folder; score it with: coherence bets --model {out} --out DIR", file=sys.stderr)
    return 0


def _course(modality: str, record: Mapping[str, Any]) -> str:
    reached = "goal reached" if record["reached"] else "goal NOT reached"
    share = record["history"][-1]["dev"]
    return f"{modality}: {reached} after {record['epochs']} epochs, {share:.1%} of dev answers right, {record['seconds']:.0f} s of processor time"


def _transfer(args: argparse.Namespace) -> int:
    import pandas as pd

    from coherence.bet_scores import score_bets
    from coherence.report.bets_plots import plot_transfer, save_figure
    from coherence.report.columns import aligned
    from coherence.storage import write_runs
    from elicitation.scenarios.bet_models import load_chooser, score_choices
    from elicitation.scenarios.bets import bet_questions

    items, out, recipe = _items(args), _folder(args.out), _recipe(args)
    questions = bet_questions(items, splits=["dev", "test"])
    found = []
    with _training(args) as show:
        base = _base(args, items, out, show)
        for modality in _MODALITIES:
            record = _fit(args, items, base, modality, out / modality, recipe, show)
            print(_course(modality, record), file=sys.stderr)
            model = load_chooser(out / modality, device=args.device, dtype="float32", threads=args.threads)
            found.append(score_choices(model, questions).assign(model=modality))
    scores = score_bets(questions, pd.concat(found, ignore_index=True)).accuracy
    write_runs(scores.rename(columns={"model": "trained_on", "template": "tested_on"}).drop(columns="kind"), out / "transfer.csv")
    correct = scores[scores["truth"] == "correct"]
    table = correct.pivot(index="model", columns="template", values="accuracy").loc[list(_MODALITIES), list(_MODALITIES)]
    found_rows = {(row["model"], row["template"]): row for row in correct.to_dict("records")}
    save_figure(partial(plot_transfer, table), out / "transfer.svg", size=(4.2, 3.6))
    cells = [["trained on", *(f"{name} test" for name in _MODALITIES)]]
    for trained in _MODALITIES:
        rows = [found_rows[trained, tested] for tested in _MODALITIES]
        cells.append([trained, *(f"{_percent(row['accuracy'])} ({_between(row, '.0%')})" for row in rows)])
    print("\n".join(aligned(cells, right=(1, 2, 3))))
    print("share of right test bets (95% interval, things as crossed clusters); a guess is right in 33%")
    print(f"{out}: {', '.join(_MODALITIES)}, transfer.csv, transfer.svg", file=sys.stderr)
    return 0
