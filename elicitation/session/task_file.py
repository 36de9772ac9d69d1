"""A task from the user's own files: a network, its words, and the records it was fitted to."""

import os
from pathlib import Path

import pandas as pd

from bayesnets import Network, Phrases, load_phrases, plain_phrases, read_network, with_records
from bayesnets.files import SUFFIXES
from bayesnets.phrases import positive_state
from coherence.errors import InputError, listing, shown
from elicitation.session.plan import Task


def is_network_file(task: str) -> bool:
    """Tell whether what a user calls a task is a file of a network, by its ending."""
    return task.lower().endswith(SUFFIXES)


def load_task_file(
    network: str | os.PathLike[str],
    *,
    target: str | None = None,
    phrases: str | os.PathLike[str] | None = None,
    positive: str | None = None,
    records: str | os.PathLike[str] | pd.DataFrame | None = None,
    min_records: int | None = None,
) -> Task:
    """Load a task from a network in a file.

    Parameters
    ----------
    network : path-like
        Ends in .bif, .xml, .xmlbif or .json; see ``bayesnets.read_network``.
    target : str or None
        The variable asked about; None takes the usual one of the phrase file.
    phrases : path-like or None
        Phrase file (.toml); see ``bayesnets.load_phrases``. None makes plain words of the names in
        the network, such as "has smoke = no".
    positive : str or None
        Without a phrase file, the state of the target whose probability is asked for; None takes a
        state called yes, true, present, positive or 1.
    records : path-like, DataFrame or None
        The records that the network was fitted to, for `min_records`: .csv or .parquet with a
        column of labels per variable. Records that miss a value are left out.
    min_records : int or None
        As of ``bayesnets.sample_cases``.

    Returns
    -------
    Task
        Named after the network, and after the target where that is not the usual one.

    Raises
    ------
    InputError
        A file that cannot be read, words that do not cover the network, or an unknown target or
        state.

    Examples
    --------
    >>> import tempfile
    >>> import bayesnets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = bayesnets.write_network(bayesnets.load_network("asia"), f"{folder}/clinic.json")
    ...     task = load_task_file(f"{folder}/clinic.json", target="lung", positive="yes")
    >>> task.name
    'asia:lung'
    """
    model = read_network(Path(network))
    if records is not None:
        table = records if isinstance(records, pd.DataFrame) else _read_records(Path(records))
        model = with_records(model, table, missing="drop")
    if phrases is None:
        words = _plain(model, target, positive)
        # Two targets have no usual one between them, and the task column tells them apart.
        chosen, name = words.default_target, f"{model.name}:{words.default_target}"
    else:
        if positive is not None:
            raise InputError(
                f"positive is said by the phrase file {phrases}; received {positive!r} beside it. "
                "Leave it out, or change the file."
            )
        words = load_phrases(Path(phrases), model)
        chosen = words.default_target if target is None else target
        model.index(chosen)  # an unknown target is named with its nearest
        name = model.name if chosen == words.default_target else f"{model.name}:{chosen}"
    return Task(name, model, words, chosen, min_records)


def _plain(network: Network, target: str | None, positive: str | None) -> Phrases:
    if target is None:
        raise InputError(
            f"target must be a variable of network {network.name!r}; none was named, and there is "
            f"no phrase file that would. Known: {listing(network.names, 12)}."
        )
    states = network.states(target)
    state = positive_state(states) if positive is None else positive
    if state is None:
        raise InputError(
            f"positive must be the state of {target!r} whose probability is asked for; its states "
            f"are {listing(states, 12)}, none was named, and there is no phrase file that would. "
            "Name it (--positive on the command line)."
        )
    if not isinstance(state, str):
        raise InputError(
            f"positive must be the name of a state of {target!r}; received {shown(state):.80}. "
            f"Known: {listing(states, 12)}."
        )
    return plain_phrases(network, target, state)


def _read_records(file: Path) -> pd.DataFrame:
    if file.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"records must end in .csv or .parquet; {file} does not.")
    try:
        if file.suffix.lower() == ".parquet":
            return pd.read_parquet(file)
        # Labels stay labels: "1" is the name of a state, and "NA" may be one.
        return pd.read_csv(file, dtype=str, keep_default_na=False, na_values=[""])
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise InputError(
            f"records must be a readable table; {file} is none "
            f"({str(error).splitlines()[0]}). Check the path."
        ) from error
