"""What a model's exact answers are made of, laid out by outcome."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from elicitation.spelling.forms import require_exclusive, spellings_of


@dataclass
class OutcomeMasses:
    """Probabilities of outcomes, a row a text, and what any of a row may lack."""

    probabilities: pd.DataFrame
    unresolved: np.ndarray


def outcome_masses(model, texts, outcomes, *, tolerance=1e-6, **options):
    spellings = spellings_of(outcomes, **options)
    require_exclusive(spellings)
    read = model.spelling_masses(model.encode(texts), spellings, tolerance=tolerance)
    names = [spelling.outcome for spelling in spellings]
    masses = pd.DataFrame(read.masses).T.groupby(names, sort=False).sum().T
    return OutcomeMasses(masses, read.unresolved)
