"""What is asked about: a network or a data set with its words and exact truth, or own questions.

A task comes from the catalogue or from the user's own files: a network, its words, and the records
it was fitted to. Questions of the user's own are a table, checked as a whole.
"""

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd

from bayesnets.cases import sample_cases
from bayesnets.catalog import load_network, network_names
from bayesnets.elimination import posterior
from bayesnets.files import ENDINGS, SUFFIXES, read_network
from bayesnets.network import Network, as_network
from bayesnets.phrases import Phrases, load_phrases, plain_phrases, positive_state
from coherence.errors import InputError, closest, listing, shown, suggestion
from coherence.runs.columns import FEATURE_PREFIX, TRUTH_KINDS
from coherence.runs.formats import read_columns, read_table, require_frame

Truth = Mapping[int, Mapping[str, Mapping[str, float]]]
"""Case -> state of z, in the order in which the question lists them -> ``p_true``, the exact
P(theta | x, z), and ``p_z_true``, P(z | x)."""


@dataclass(frozen=True)
class Task:
    """What is asked about: a network, its words, and a variable of it.

    Parameters
    ----------
    name : str
        Value of the `task` column.
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        Source of cases and truth; kept as a `Network`.
    phrases : Phrases
        The network in words.
    target : str
        The variable asked about; a belief is the probability of its positive state.
    min_records : int or None
        Records that the evidence of a case needs, as of ``bayesnets.sample_cases``.
    """

    name: str
    network: Network
    phrases: Phrases
    target: str
    min_records: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "network", as_network(self.network))

    def cases(self, n: int, *, seed: int) -> pd.DataFrame:
        """Draw the contexts of a session, as from ``bayesnets.sample_cases``."""
        if n < 1 or seed < 0:
            raise InputError(
                f"contexts must be at least 1, and seed at least 0; received contexts {n} and "
                f"seed {seed}."
            )
        return sample_cases(
            self.network,
            self.target,
            n,
            target_state=self.phrases.positive(self.target),
            min_records=self.min_records,
            rng=np.random.default_rng(seed),
        )


class Subject(Protocol):
    """Whatever can be asked about: a `Task`, or ``bayesnets.RecordTask`` with words."""

    @property
    def name(self) -> str:
        """Value of the `task` column."""

    @property
    def network(self) -> Network:
        """Source of the truth."""

    @property
    def phrases(self) -> Phrases:
        """The network in words."""

    @property
    def target(self) -> str:
        """The variable asked about."""

    def cases(self, n: int, *, seed: int) -> pd.DataFrame:
        """Draw the contexts of a session."""


def load_task(
    name_or_network: Any,
    *,
    target: str | int | None = None,
    phrases: str | os.PathLike[str] | None = None,
    positive: str | int | None = None,
    records: str | os.PathLike[str] | pd.DataFrame | None = None,
    min_records: int | None = None,
) -> Subject:
    """Load what is asked about: from the catalogue, or a network of the user's own.

    Parameters
    ----------
    name_or_network : str, path-like, Network or pgmpy.models.DiscreteBayesianNetwork
        A name in ``bayesnets.network_names()`` or in ``bayesnets.dataset_names()``, whose records
        are the truth; the file of a network, see ``bayesnets.read_network``; or a network.
    target : str or None
        The variable asked about; None takes the usual one. A data set has only that one, and a
        network of the user's own the one that the phrase file names.
    phrases : path-like or None
        Of a network of the user's own: phrase file (.toml); see ``bayesnets.load_phrases``. None
        makes plain words of the names in the network, such as "has smoke = no".
    positive : str, int, bool or None
        Without a phrase file, the state of the target whose probability is asked for; None takes a
        state called yes, true, present, positive or 1.
    records : path-like, DataFrame or None
        The records that the user's network was fitted to, for `min_records`: .csv or .parquet with
        a column of labels per variable. Records that miss a value are left out.
    min_records : int or None
        Records that the evidence of a case needs, as of ``bayesnets.sample_cases``; of a data set
        None is 100.

    Returns
    -------
    Task or RecordTask
        With words. A network's task is named after it, and after the target where that is not the
        usual one.

    Raises
    ------
    InputError
        An unknown name, target or state, a file that cannot be read, words that do not cover the
        network, or an option that what is loaded does not have.

    Examples
    --------
    >>> load_task("asia").name
    'asia'
    >>> import bayesnets
    >>> load_task(bayesnets.load_network("cancer"), target="Cancer", positive="True").name
    'cancer:Cancer'
    """
    listed = isinstance(name_or_network, str) and not is_network_file(name_or_network)
    if listed:
        own = {"phrases": phrases, "positive": positive, "records": records}
        if stray := [name for name, value in own.items() if value is not None]:
            raise InputError(
                f"{stray[0]} goes with a network of your own, as a file that ends in {ENDINGS} or "
                f"as an object; the task is {name_or_network!r}. Leave it out."
            )
        if name_or_network not in network_names():
            return _load_data_set(name_or_network, target, min_records)
        if min_records:
            raise InputError(
                f"min_records counts records, and the network {name_or_network!r} of the catalogue "
                f"has none behind it; received {min_records}. Leave it out."
            )
        model, min_records = load_network(name_or_network), None
    elif isinstance(name_or_network, str | os.PathLike):
        model = read_network(Path(name_or_network))
    else:
        model = as_network(name_or_network)
    if records is not None:
        from bayesnets.records.fitting import with_records

        table = records if isinstance(records, pd.DataFrame) else _read_records(Path(records))
        model = with_records(model, table, missing="drop")
    if positive is not None and phrases is not None:
        raise InputError(
            f"positive is said by the phrase file {phrases}; received {positive!r} beside it. "
            "Leave it out, or change the file."
        )
    if listed or phrases is not None:
        words = load_phrases(Path(phrases) if phrases is not None else name_or_network, model)
        usual = words.default_target
        # An unknown target is named with its nearest.
        chosen = usual if target is None else model.node(str(target)).name
    else:
        words, usual = _plain(model, target, positive), None
        chosen = words.default_target
    # The usual target goes without saying; the task column tells the others from it.
    name = model.name if chosen == usual else f"{model.name}:{chosen}"
    return Task(name, model, words, chosen, min_records)


def _load_data_set(name: str, target: str | int | None, min_records: int | None) -> Subject:
    from bayesnets.records.datasets import dataset_names, load_dataset

    known = (*network_names(), *dataset_names())
    if name not in known:
        raise InputError(
            f"task must be the name of a network or of a data set; received {name!r}. "
            f"{suggestion(name, known)} "
            f"A network of your own is a file that ends in {ENDINGS}."
        )
    task = (
        load_dataset(name) if min_records is None else load_dataset(name, min_records=min_records)
    )
    if target not in (None, task.target):
        raise InputError(
            f"target of the records {name!r} must be {task.target!r}, the outcome they hold; "
            f"received {target!r}. Leave it out."
        )
    # Records may come without words; the data sets of the package have them.
    return cast("Subject", task)


def is_network_file(task: str) -> bool:
    """Tell whether what a user calls a task is a file of a network, by its ending."""
    return task.lower().endswith(SUFFIXES)


def _plain(network: Network, target: str | int | None, positive: str | int | None) -> Phrases:
    if target is None:
        raise InputError(
            f"target (--target or --variable) must be a variable of network {network.name!r}; none "
            "was named, "
            f"and there is no phrase file that would. Known: {listing(network.names, 12)}."
        )
    node = network.node(str(target))
    target, states = node.name, node.states
    state = positive_state(states) if positive is None else positive
    if state is None:
        raise InputError(
            f"positive must be the state of {target!r} whose probability is asked for; its states "
            f"are {listing(states, 12)}, none was named, and there is no phrase file that would. "
            "Name it (--positive on the command line)."
        )
    if not isinstance(state, str | int | float | np.generic):
        raise InputError(
            f"positive must be the name of a state of {target!r}; received {shown(state):.80}. "
            f"Known: {listing(states, 12)}."
        )
    return plain_phrases(network, target, state)


def _read_records(file: Path) -> pd.DataFrame:
    if file.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"records must end in .csv or .parquet; {file} does not.")
    # Labels stay labels: "1" is the name of a state, and "NA" may be one.
    return read_table(file).table


def features_of(cases: pd.DataFrame) -> list[str]:
    """Return the columns of the evidence."""
    return [str(name) for name in cases.columns if str(name).startswith(FEATURE_PREFIX)]


def cells_of(cases: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the cells of every case by column.

    A row that is taken from a table by position copies the table's notes (`attrs`) each time.
    """
    return [
        dict(zip(map(str, cases.columns), row, strict=True))
        for row in cases.itertuples(index=False, name=None)
    ]


def evidence_of(case: Mapping[str, Any]) -> dict[str, str]:
    """Return the observed variables of a case."""
    columns = [name for name in case if name.startswith(FEATURE_PREFIX)]
    # A variable that was not observed has an empty cell, and must not be described.
    seen = [name for name in columns if pd.notna(case[name])]
    return {name.removeprefix(FEATURE_PREFIX): str(case[name]) for name in seen}


def conditional_truth(
    cases: pd.DataFrame, network: Network, phrases: Phrases, target: str
) -> dict[int, dict[str, dict[str, float]]]:
    """Return the exact P(theta | x, z) and P(z | x) of cases, see `Truth`."""
    truth: dict[int, dict[str, dict[str, float]]] = {}
    positive = phrases.positive(target)
    asked, known = cases["z"].astype("object"), cells_of(cases)
    for z in asked.dropna().unique():
        positions = [position for position, value in enumerate(asked) if value == z]
        evidence = pd.DataFrame([evidence_of(known[position]) for position in positions])
        weights = posterior(network, evidence, z)
        for state in phrases.labels(z):
            # A state of z that x rules out has no conditional truth: it stays null.
            beliefs = posterior(network, evidence.assign(**{z: state}), target, errors="nan")
            for row, position in enumerate(positions):
                truth.setdefault(position, {})[state] = {
                    "p_true": float(beliefs.iloc[row][positive]),
                    "p_z_true": float(weights.iloc[row][state]),
                }
    return truth


OPTION_MARK = "|"
_TEXTS = ("belief_question", "yes_no_question", "action_question")
COLUMNS = ("context", *_TEXTS, "options", "theta", "p_true", "truth_kind")
"""Columns of a file of questions; beside them any column ``x_<name>``."""
_AS_TEXT = ("context", "id", *_TEXTS, "options")
# An option is an answer of a few words; a paragraph in its place is a column that slipped.
_LONGEST_OPTION = 200


def load_questions(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read a file of questions.

    Parameters
    ----------
    path : path-like
        ``.csv`` or ``.jsonl``; columns as in `COLUMNS`, of which ``context`` (or ``id``) and
        ``belief_question`` or ``yes_no_question`` are needed. ``options`` holds the actions: a list
        in JSONL, ``a|b|c`` in CSV.

    Returns
    -------
    DataFrame
        One row per context, texts as strings, ``options`` as tuples.

    Raises
    ------
    InputError
        The file cannot be read, or with every error at once (rows counted from 0).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> lines = "id,belief_question\nmonday,How probable is rain on Monday?\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "questions.csv"
    ...     _ = path.write_text(lines, encoding="utf-8")
    ...     questions = load_questions(path)
    >>> questions["context"].tolist()
    ['monday']
    """
    source = Path(path)
    if source.suffix.lower() not in (".csv", ".jsonl"):
        raise InputError(f"questions must be a .csv or .jsonl file; received {source}.")
    table = read_columns(source, _AS_TEXT)
    # The name that data sets in JSONL mostly use.
    if "context" not in table.columns and "id" in table.columns:
        table = table.rename(columns={"id": "context"})
    return check_questions(table, source=f"questions {source}")


def check_questions(table: pd.DataFrame, *, source: str = "questions") -> pd.DataFrame:
    """Check a table of questions that was made in Python; as `load_questions`."""
    table = require_frame(table, "questions").reset_index(drop=True)
    names = [str(name) for name in table.columns]
    errors = [
        f"column {name!r} is unknown; features begin with {FEATURE_PREFIX!r}. "
        f"{closest(name, COLUMNS, near='Closest column: {near!r}.', far='Columns: {quoted}.')}"
        for name in names
        if name not in COLUMNS and not name.startswith(FEATURE_PREFIX)
    ]
    if not len(table):
        errors.append("it has no rows.")
    if "context" not in names:
        errors.append("column 'context' (or 'id') is missing.")
    if not {"belief_question", "yes_no_question"} & set(names):
        errors.append(f"column 'belief_question' is missing. {closest('belief_question', names)}")
    if ("action_question" in names) != ("options" in names):
        errors.append(
            "columns 'action_question' and 'options' belong together; one of them is missing."
        )
    if "options" in names:
        options = pd.Series(map(_options, table["options"]), dtype=object, index=table.index)
        table = table.assign(options=options)
    for name in dict.fromkeys(name for name in names if name in COLUMNS):
        for rule, broken in _rules(name, table[name]).items():
            if rows := [str(row) for row, wrong in enumerate(map(bool, broken)) if wrong]:
                more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
                errors.append(
                    f"column {name!r} {rule}; see row{'s'[: len(rows) > 1]} "
                    f"{', '.join(rows[:5])}{more}."
                )
    if errors:
        raise InputError.all_at_once(
            f"{source} has {len(errors)} error{'s' if len(errors) > 1 else ''}", errors
        )
    if "p_true" in names:
        table = table.assign(p_true=pd.to_numeric(table["p_true"]))
    return table.astype({"context": str})


def _rules(name: str, column: "pd.Series[Any]") -> dict[str, Iterable[Any]]:
    """Return what a column must be, with where it is not."""
    blank = column.map(_blank).astype(bool)
    rules: dict[str, Iterable[Any]] = {}
    if name in ("context", *_TEXTS):
        rules["is empty"] = blank
    if name == "context":
        # Two rows of one name would be resampled, and set beside each other, as one context.
        rules["must be unique"] = column.duplicated() & ~blank
    if name in _TEXTS:
        # JSONL may hold a number or a list where a text belongs.
        texts = column.map(lambda text: isinstance(text, str)).astype(bool)
        rules["must hold texts"] = ~blank & ~texts
    if name == "options":
        rules[
            f"must hold two or more different options ('a{OPTION_MARK}b'), in capitals and small "
            "letters too, each on one line"
        ] = [not _usable(options) for options in column]
    if name == "p_true":
        numbers = pd.to_numeric(column, errors="coerce")
        # An empty cell is a truth that is not known; a word in its place is an error.
        wrong = (numbers.isna() & ~blank) | (numbers < 0) | (numbers > 1)
        rules["must hold probabilities in [0, 1]"] = wrong
    if name == "truth_kind":
        rules[f"must be {' or '.join(TRUTH_KINDS)}"] = ~column.isin(TRUTH_KINDS)
    return rules


def _blank(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _options(value: Any) -> tuple[str, ...]:
    listed = value.split(OPTION_MARK) if isinstance(value, str) else value
    if isinstance(listed, list | tuple) and all(isinstance(option, str) for option in listed):
        return tuple(option.strip() for option in listed)
    return ()


def _usable(options: tuple[str, ...]) -> bool:
    # An answer is one line, and is found among the options whatever its case: options must differ
    # in more than that.
    fair = all(
        option and "\n" not in option and "\r" not in option and len(option) <= _LONGEST_OPTION
        for option in options
    )
    return fair and 1 < len(options) == len({option.casefold() for option in options})
