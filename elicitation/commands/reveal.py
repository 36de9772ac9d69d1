"""``coherence reveal``: beliefs revealed by unfinished texts, beside stated answers and bets.

The texts are about dice, coins, choices and preferences.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from coherence.cli.terminal import answer_progress
from coherence.printable import clean, counted, numbered
from elicitation.battery import BatteryOptions, Results, run_battery
from elicitation.declarations import add_options, flag_of, from_words
from elicitation.respondents import Respondent

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore
    from elicitation.batteries.revealed.questions import BatteryQuestion, RevealedAnswers
    from elicitation.batteries.revealed.scenarios.setting import Setting
    from elicitation.models.local.causal import CausalModel
    from elicitation.questions.question import Question


@dataclass(frozen=True, kw_only=True)
class RevealOptions(BatteryOptions):
    """Options of the command."""

    command: ClassVar[str] = "reveal"
    title: ClassVar[str] = "Revealed beliefs"
    written: ClassVar[str] = (
        r"(summary|scores|beliefs|influence|orders|stated|stated_errors|bets)\.csv"
        r"|(outcomes|previous|orders)\.png|runs\.parquet|results\.json|report\.html"
    )
    earlier: ClassVar[str] = r"revealed-[a-z]+\.(md|tex|csv)"

    # Texts are continued, and questions with options go through the model's own template.
    left_out: ClassVar[tuple[str, ...]] = (
        *("chat", "system", "prefill", "server", "server_name", "api_key_env", "max_connections"),
        *("timeout", "reasoning_effort", "chat_template_kwargs", "extra_body", "max_new_tokens"),
        "keep_going",
    )
    HELP = """
[model]
model DIR  a causal model: a folder as written by save_pretrained, a .gguf file, or OWNER/NAME of
    the hub; see docs/eliciting.md#models; repeat it to ask several, one after the other
[]
answers FILE  questions that were asked elsewhere, filled in; needs no model
write_questions FILE  write all questions as CSV, to be asked elsewhere, and stop
only_revealed  ask neither for stated answers nor for bets, and run no checks
reps 1..  actions drawn per bet (default: 5)
[grid]
where NAME=A,B  keep settings whose scenario, variant, n, faces, bias, observation, ... is one of
    these; may be given several times
"""

    chat: bool | None = False
    write_questions: str | None = None
    only_revealed: bool = False
    reps: int = 5
    where: tuple[str, ...] = ()

    def check(self, respondents: Sequence[Respondent]) -> None:
        """Raise for options that do not go together."""
        from coherence.errors import InputError

        super().check(respondents)
        if hosted := [each.name for each in respondents if each.hosted]:
            raise InputError(
                "--model must be a model whose files are at hand: how a text goes on is read off "
                f"its probabilities; received {', '.join(hosted)}. Have its answers to the "
                "questions of --write-questions FILE, and score them by --answers FILE."
            )
        _ = self.settings  # a grid that is none is said before folders are made

    @cached_property
    def settings(self) -> "list[Setting]":
        """The chosen part of the grid."""
        from coherence.errors import InputError
        from elicitation.batteries.revealed.scenarios.grid import select, standard_grid

        where: dict[str, list[str]] = {}
        for condition in self.where:
            name, equals, values = condition.partition("=")
            if not equals:
                raise InputError(f"--where needs NAME=VALUE; received {condition!r}.")
            # A name given twice widens its choice; different names narrow the grid.
            where.setdefault(name.strip(), []).extend(value.strip() for value in values.split(","))
        return select(standard_grid(), where)

    @cached_property
    def questions(self) -> "list[BatteryQuestion]":
        """What is asked."""
        from elicitation.batteries.revealed.questions import battery

        return battery(self.settings, only_revealed=self.only_revealed)

    def planned(self, respondent: Respondent) -> "list[Question]":
        """Return what a model would be asked."""
        return [each.read for each in self.questions]

    @property
    def unless(self) -> str:
        """What leaves out stated answers."""
        unless = "a model without a chat template is not asked for stated answers"
        return "" if self.only_revealed else unless

    def ask(self, respondent: Respondent, store: "AnswerStore") -> "RevealedAnswers":
        """Return the answers of a model."""
        from elicitation.batteries.revealed.questions import (
            BELIEF,
            BET,
            STATED,
            RevealedAnswers,
            ask_battery,
        )

        # Texts are continued, not answered: without a chat template, whether there is one or not.
        revealing: CausalModel = respondent.load()
        acting, source = revealing, respondent.name
        if not self.only_revealed:
            acting = revealing.in_chat()
            # What a base model states in answer to options is no belief; bets are its actions.
            if not acting.chat:
                print(
                    f"coherence reveal: {clean(source)} has no chat template, and is not asked for "
                    "stated answers",
                    file=sys.stderr,
                )
        answers = RevealedAnswers()
        for kind, label, model in (
            (BELIEF, "beliefs", revealing),
            (STATED, "stated answers", acting),
            (BET, "bets", acting),
        ):
            asked = [each for each in self.questions if each.kind == kind]
            if not asked or (kind == STATED and not acting.chat):
                continue
            with answer_progress(f"{source}, {label}") as progress:
                answers.masses |= ask_battery(model, asked, store, progress=progress)
        return answers

    def together(self, answers: "Mapping[str, RevealedAnswers]") -> "Mapping[str, RevealedAnswers]":
        """Return them as they are: by who answered."""
        return answers

    def read(self, file: str) -> "Mapping[str, RevealedAnswers]":
        """Read what was elicited elsewhere."""
        from elicitation.batteries.revealed.answer_file import read_answer_file

        return read_answer_file(file, self.settings, only_revealed=self.only_revealed)

    def score(self, answers: "Mapping[str, RevealedAnswers]") -> Results:
        """Lay out what everybody answered, and measure it."""
        import pandas as pd

        from coherence.batteries.revealed import scores as measures
        from coherence.batteries.revealed import shown

        laid_out = [
            given.tables(self.settings, source, reps=self.reps, seed=self.seed)
            for source, given in answers.items()
        ]
        for each in laid_out:
            _say_lonely(each["bets"], each["runs"])

        found: dict[str, pd.DataFrame] = {}
        for kind in laid_out[0]:
            if filled := [each[kind] for each in laid_out if len(each[kind])]:
                found[kind] = pd.concat(filled, ignore_index=True)
        beliefs, stated, tables = found.get("beliefs"), found.get("stated"), dict[str, Any]()
        if stated is not None:
            tables |= {"stated": stated, "stated_errors": measures.score_stated(stated)}
        if beliefs is not None:
            scores = measures.score_beliefs(beliefs)
            tables |= {
                "beliefs": beliefs,
                "scores": scores,
                "summary": measures.summarise_scores(scores),
                "influence": measures.previous_influences(beliefs),
                "orders": measures.order_preferences(beliefs),
            }
        if "bets" in found:
            tables["bets"] = measures.score_wagers(found["bets"])
        paper = shown.revealed_tables(tables.get("summary"), tables.get("stated_errors"))
        texts = [shown.render_tables(paper), shown.render_sources(tables)]
        results = Results(
            {f"{name}.csv": table for name, table in tables.items()},
            "\n\n".join(filter(None, texts)),
            paper=paper,
        )
        if beliefs is not None:
            results.figures = partial(shown.write_figures, beliefs)
        if "runs" in found:
            results.last = partial(_check_coherence, found["runs"], seed=self.seed)
        return results


def _say_lonely(bets: "pd.DataFrame", runs: "pd.DataFrame") -> None:
    """Say how many bets have no belief beside them: a file may be of different settings."""
    if lonely := len(bets) - runs["context"].nunique():
        print(
            f"{counted(lonely, 'bet has', 'bets have')} no belief in the wording 'standard' "
            f"beside {numbered(lonely, 'it', 'them')}, and {numbered(lonely, 'is', 'are')} "
            "left out of the checks",
            file=sys.stderr,
        )


def _check_coherence(runs: "pd.DataFrame", folder: Path, *, seed: int) -> str:
    """Run the ordinary checks, write their report and return it as text."""
    from coherence.analysis.analyze import analyze
    from coherence.report.screen import render_report
    from coherence.runs.write import write_runs

    # First, so that a check that fails leaves the table to look at.
    write_runs(runs, folder / "runs.parquet")
    print("checking the coherence of beliefs and bets", file=sys.stderr)
    report = analyze(runs, rng=seed)
    (folder / "results.json").write_text(report.to_json(), encoding="utf-8")
    (folder / "report.html").write_text(report.to_html(), encoding="utf-8")
    return f"\n{render_report(report.evaluations, full=True)}"


OPTIONS = RevealOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser, OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Read, measure, draw, check, write."""
    options = from_words(OPTIONS, args)
    if options.write_questions is None:
        return run_battery(options)
    _write_questions(options, options.write_questions)
    return 0


def _write_questions(options: RevealOptions, path: str) -> None:
    from coherence.errors import InputError
    from coherence.runs.files import replacing
    from elicitation.batteries.revealed.questions import questions_table

    unused = ("model", "answers", "out", "paper", "dry_run")
    said = [name for name in unused if getattr(options, name) not in (None, False)]
    if beside := [flag_of(name) for name in said]:
        raise InputError(
            f"--write-questions writes the questions and stops, so that {', '.join(beside)} has no "
            "meaning beside it. Leave it out."
        )
    table = questions_table(options.questions)
    # Answers are filled into this file, and a second call must not cost them.
    with replacing(Path(path), keep=True, option="--write-questions") as temporary:
        table.to_csv(temporary, index=False)
    numbers = table.drop_duplicates("question").groupby("kind", sort=False).size()
    counts = ", ".join(f"{number} {kind}" for kind, number in numbers.items())
    print(
        f"{path}: {counted(len(options.settings), 'setting')}, {counts} questions; "
        "fill in 'probability' or 'answer'",
        file=sys.stderr,
    )
