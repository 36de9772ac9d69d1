"""Scores of what is said and done beside a revealed belief: stated answers, and bets on events."""

import numpy as np
import pandas as pd

from coherence.batteries.revealed.distances import stated_error
from coherence.errors import InputError


def score_stated(stated: pd.DataFrame) -> pd.DataFrame:
    """Return the error of stated answers."""
    rows = []
    for (source, setting), answers in stated.groupby(["source", "setting"], sort=False):
        masses = answers.pivot(index="rotation", columns="letter", values="mass")
        correct = answers.pivot(index="rotation", columns="letter", values="correct")
        missing = np.argwhere(masses.isna().to_numpy())
        if len(missing):
            rotation, letter = masses.index[missing[0, 0]], masses.columns[missing[0, 1]]
            raise InputError(
                f"stated answers of {source!r} to {setting!r} lack the probability of letter "
                f"{letter!r} in rotation {rotation} ({len(missing)} are missing). "
                "Give one to every letter in every rotation, or leave the setting out."
            )
        error = stated_error(masses.to_numpy(), correct.to_numpy(dtype=bool).argmax(axis=1))
        mass = float(masses.sum(axis=1).mean())
        first = answers.iloc[0]
        rows.append((source, first["scenario"], first["group"], setting, error, mass))
    columns = ["source", "scenario", "group", "setting", "stated_error", "answer_mass"]
    return pd.DataFrame(rows, columns=columns)


def score_wagers(wagers: pd.DataFrame) -> pd.DataFrame:
    """Return what bets at even odds are worth."""
    # A bet at even odds on an event of probability q gains q - (1 - q) points.
    edge = 2 * wagers["truth"] - 1
    gain = wagers["share"] * edge
    # Who knows the truth takes the bets that gain, and no others.
    return wagers.assign(gain=gain, loss=edge.clip(lower=0) - gain)
