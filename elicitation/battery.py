"""One skeleton of command for the batteries: ask or read, score, write, print.

A battery is the class of its options, which says how answers are read, asked for and scored; what
goes together, whose answers are kept where, and how a folder is written stands here. Results of an
earlier call in the folders are replaced, and an error leaves no folder behind.
"""

import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from coherence.cli.folders import in_place, new_files, no_empty_folders, prepare_folder
from elicitation.options import ModelOptions
from elicitation.respondents import Respondent, respondents_of

if TYPE_CHECKING:
    import pandas as pd

    from coherence.report.document import Table
    from elicitation.asking.store import AnswerStore
    from elicitation.questions.question import Question


INDEXES = r"paper\.(md|tex)"
_ALWAYS = ("paper.md", "paper.tex")


@dataclass
class Results:
    """What a battery found, and what is written and printed of it."""

    tables: "dict[str, pd.DataFrame]"  # by the name of the file; those without rows are not written
    text: str  # for the terminal
    # what else is written: name of the file -> what writes it
    files: "dict[str, Callable[[Path], object]]" = field(default_factory=dict)
    figures: "Callable[[Path], object] | None" = None  # writes further ones into a folder
    paper: "Sequence[Table]" = ()
    # what comes last, since it takes long or may fail: writes files, and returns lines to print
    last: "Callable[[Path], str] | None" = None


@dataclass(frozen=True, kw_only=True)
class BatteryOptions(ModelOptions):
    """Who is asked or whose answers are read, and where results go."""

    title: ClassVar[str]
    written: ClassVar[str]  # pattern of all files that the command may write, but for the store
    earlier: ClassVar[str]  # pattern of the tables of the paper

    HELP = """
[model]
model MODEL  a model: a folder as written by save_pretrained, a .gguf file, or OWNER/NAME of the
    hub; see docs/eliciting.md#models; or PROVIDER/NAME of a hosted model; with --server its name
    there; repeat it to ask several, one after the other
[]
out DIR  folder for tables and figures, made if need be
paper DIR  folder for the tables as the paper lays them out, as Markdown, LaTeX and CSV
max_new_tokens 1..  cut of a hosted model's answers; one that thinks first needs thousands
    (default: 64)
seed 0..  seed of draws and intervals (default: 0)
"""

    model: tuple[str, ...] | None = None
    answers: str | None = None
    out: str | None = None
    paper: str | None = None
    max_new_tokens: int | None = None
    seed: int = 0

    @property
    def named(self) -> tuple[str, ...]:
        """What ``--model`` names."""
        return self.model or ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Files that are read, and must not be replaced by results."""
        return () if self.answers is None else (self.answers,)

    def check(self, respondents: Sequence[Respondent]) -> None:
        """Raise for options that do not go together, before anything is read or loaded."""
        from coherence.errors import InputError

        if bool(self.named) == (self.answers is not None):
            raise InputError(
                "needed: --model DIR to ask a model, or --answers FILE to score answers, and not "
                f"both. See 'coherence {self.command} --help'."
            )
        if self.dry_run and self.answers is not None:
            raise InputError(
                "--dry-run is for --model; the answers of --answers are there already. Leave it "
                "out."
            )
        if self.server is not None and not self.named:
            raise InputError("--server needs --model, the model's name there. Leave --server out.")
        if self.out is None:
            raise InputError("--out DIR is missing. Name a folder for tables and figures.")
        folder_of(self.out)

    @property
    def unless(self) -> str:
        """What leaves out some of what is planned."""
        return ""

    def planned(self, respondent: Respondent) -> "list[Question]":
        """Return what a model would be asked."""
        raise NotImplementedError

    def ask(self, respondent: Respondent, store: "AnswerStore") -> Any:
        """Return what a model answers."""
        raise NotImplementedError

    def together(self, answers: Mapping[str, Any]) -> Any:
        """Return the answers of all models, by their names, as `read` does those of a file."""
        import pandas as pd

        tables = [table.assign(model=name) for name, table in answers.items()]
        return pd.concat(tables, ignore_index=True)

    def read(self, file: str) -> Any:
        """Return the answers of a file."""
        raise NotImplementedError

    def score(self, answers: Any) -> Results:
        """Return what there is to write and to print."""
        raise NotImplementedError


def folder_of(path: str) -> Path:
    """Return the folder for results, which is made later; raise for a file of that name."""
    from coherence.errors import InputError

    out = Path(path)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder; {out} is a file. Choose another name.")
    return out


def run_battery(options: BatteryOptions) -> int:
    """Ask or read, score, write and print; or only look."""
    from coherence.report.wording import clean
    from elicitation.asking.store import answer_store, outlook

    respondents = respondents_of(options)
    options.check(respondents)
    store_path = options.store or os.path.join(str(options.out), "answers.sqlite")
    if options.dry_run:
        for number, each in enumerate(respondents):
            if len(respondents) > 1:
                print(f"{'' if number == 0 else chr(10)}model      {clean(each.name)}")
            asked, name = options.planned(each), each.stored_name
            print(outlook(asked, model_name=name, store=store_path, unless=options.unless))
        return 0
    assert options.out is not None, "options were checked"
    with no_empty_folders(options.out, options.paper):
        if options.answers is not None:
            # Before folders are made: a table with errors leaves none behind.
            results = options.score(options.read(options.answers))
            paper, folder = paper_folder(options.paper), prepare_folder(options.out)
        else:
            # What is wrong with any of them shows before the first is asked.
            for respondent in respondents:
                respondent.check()
            # --out is known to be no file: whatever is wrong with --paper leaves no empty folder.
            paper, folder = paper_folder(options.paper), prepare_folder(options.out)
            answers = {}
            with answer_store(Path(store_path)) as store:
                for respondent in respondents:
                    answers[respondent.name] = options.ask(respondent, store)
                    # One is in memory at a time; what refers to itself would keep its weights.
                    gc.collect()
            results = options.score(options.together(answers))
        _write(options, results, folder, paper)
    return 0


def _write(options: BatteryOptions, results: Results, folder: Path, paper: Path | None) -> None:
    """Write tables, figures and the paper's tables, and print the summary."""
    from coherence.runs.write import write_runs, write_table

    where = f"{folder}{in_place(folder, options.written)}"
    failure: Exception | None = None
    with new_files(folder, options.written, options.inputs) as new:
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
    write_paper_tables(paper, options.title, results.paper, earlier=options.earlier)
    if failure is not None:
        raise failure


def paper_folder(path: str | None) -> Path | None:
    """Make the folder before anything is asked; None where the option was not given."""
    return None if path is None else prepare_folder(path, "--paper", _ALWAYS)


def write_paper_tables(
    folder: Path | None,
    title: str,
    tables: "Sequence[Table]",
    *,
    earlier: str,
) -> None:
    """Write tables and indexes where a folder was named, and say so."""
    if folder is None:
        return
    from coherence.report.files import write_document

    where = f"{folder}/paper.md{in_place(folder, INDEXES)}"
    with new_files(folder, f"{earlier}|{INDEXES}") as new:
        write_document(new, title, tables)
    print(f"wrote the tables of the paper, see {where}", file=sys.stderr)
