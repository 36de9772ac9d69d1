"""Two public data sets as tasks whose truth is a share of records.

Both come with other packages, statsmodels and scikit-learn, which are imported when a data set is
loaded. Measurements are cut into few classes at the
points written below, so that a stratum of several covariates still holds enough records.
"""

from dataclasses import replace
from importlib.resources import as_file, files

import numpy as np
import pandas as pd

from bayesnets.phrases import load_phrases
from bayesnets.records.strata import RecordTask
from coherence.errors import InputError, suggestion


def dataset_names() -> tuple[str, ...]:
    """Return the names of the data sets.

    Returns
    -------
    tuple of str
        In alphabetical order.

    Examples
    --------
    >>> dataset_names()
    ('breast_cancer', 'randhie')
    """
    return tuple(sorted(_SOURCES))


def load_dataset(name: str, *, min_records: int = 100) -> RecordTask:
    """Load a data set as a task, with its words.

    Parameters
    ----------
    name : str
        One of `dataset_names`.
    min_records : int
        Records that a stratum needs, at least 1.

    Returns
    -------
    RecordTask
        With complete records and phrases. The index of the records is that of the original table.

    Raises
    ------
    InputError
        Unknown name (the message proposes the closest), or a number outside its range.

    Notes
    -----
    `randhie` (its columns in brackets): plan is deductible where `idp` is 1, else by coinsurance
    (`lncoins`) free at 0, part at 25 or 50 and most at 95 percent; incentive by yearly payment
    (`lpi`) none up to 1, small up to 500 dollars, else large; limitation (`physlm`) yes or no, the
    1,052 fractions left out; chronic diseases (`disea`) few up to 7, some up to 14, else many;
    health (`hlthg`, `hlthf`, `hlthp`) excellent, good, fair_or_poor; frequent_visits (`mdvis`) yes
    from 2 on. `breast_cancer`: high is above the median, 13.37 for mean radius, 18.84 for texture,
    0.09587 for smoothness, 0.06154 for concavity and 0.1792 for symmetry.

    Examples
    --------
    >>> task = load_dataset("randhie")
    >>> first = task.strata(n_observed=1).loc[0]
    >>> len(task.records), first["x_plan"], first["n"].item(), round(float(first["p_true"]), 3)
    (19138, 'free', 6407, 0.599)
    """
    if name not in _SOURCES:
        raise InputError(
            f"data set must be one of those that come with this package, not {name!r}. "
            f"{suggestion(name, dataset_names())}"
        )
    read, target, positive, source = _SOURCES[name]
    records = read()
    covariates = tuple(column for column in records.columns if column != target)
    task = RecordTask(name, records, covariates, target, positive, min_records, source=source)
    with as_file(files("bayesnets") / "words" / f"{name}.toml") as path:
        return replace(task, phrases=load_phrases(path, task.network))


def _randhie() -> pd.DataFrame:
    """Return person-years of the RAND Health Insurance Experiment.

    The limitation is a yes or a no, except in 1,052 of 20,190 rows where a fraction stands for it;
    these are left out.
    """
    from statsmodels.datasets import randhie

    table = randhie.load_pandas().data
    table = table[table["physlm"].isin([0, 1])]
    # Logarithms of (percent + 1) and of dollars. Without a deductible the percents are 0, 25, 50
    # and 95.
    percent, dollars = np.exp(table["lncoins"]) - 1, np.exp(table["lpi"])
    plan = np.select(
        [table["idp"] == 1, percent < 1, percent < 75], ["deductible", "free", "part"], "most"
    )
    poorer = (table["hlthf"] == 1) | (table["hlthp"] == 1)
    health = np.select([poorer, table["hlthg"] == 1], ["fair_or_poor", "good"], "excellent")
    return pd.DataFrame(
        {
            "plan": pd.Categorical(plan, ["free", "deductible", "part", "most"]),
            # A payment of at most one dollar is stored as one dollar.
            "incentive": pd.cut(dollars, [0, 1.01, 500, np.inf], labels=["none", "small", "large"]),
            "limitation": _yes_no(table["physlm"] == 1),
            "chronic": pd.cut(table["disea"], [-1, 7, 14, np.inf], labels=["few", "some", "many"]),
            "health": pd.Categorical(health, ["excellent", "good", "fair_or_poor"]),
            "frequent_visits": _yes_no(table["mdvis"] >= 2),
        },
        index=table.index,
    )


# Medians over the 569 samples; "high" is above.
_MEDIANS = {
    "radius": ("mean radius", 13.37),
    "texture": ("mean texture", 18.84),
    "smoothness": ("mean smoothness", 0.09587),
    "concavity": ("mean concavity", 0.06154),
    "symmetry": ("mean symmetry", 0.1792),
}


def _breast_cancer() -> pd.DataFrame:
    """Return samples of breast masses, each measurement split at its median."""
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer(as_frame=True).frame
    columns = {
        name: pd.cut(table[column], [-1, median, np.inf], labels=["low", "high"])
        for name, (column, median) in _MEDIANS.items()
    }
    diagnosis = pd.Categorical(
        np.where(table["target"] == 0, "malignant", "benign"), ["malignant", "benign"]
    )
    return pd.DataFrame({**columns, "diagnosis": diagnosis}, index=table.index)


def _yes_no(flags: pd.Series) -> "pd.Categorical[str]":
    return pd.Categorical(np.where(flags, "yes", "no"), ["yes", "no"])


_SOURCES = {  # how the records are read, what is asked about them, and where they come from
    "randhie": (
        _randhie,
        "frequent_visits",
        "yes",
        "RAND Health Insurance Experiment, person-years, as in statsmodels.datasets.randhie "
        "(Newhouse 1993; Deb and Trivedi 2002).",
    ),
    "breast_cancer": (
        _breast_cancer,
        "diagnosis",
        "malignant",
        "Breast Cancer Wisconsin (Diagnostic), as in sklearn.datasets.load_breast_cancer (Street, "
        "Wolberg and Mangasarian 1993).",
    ),
}
