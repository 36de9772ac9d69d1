"""The model that knows nothing. Breaks if it cannot be loaded or changes from call to call."""

import numpy as np

from elicitation import load_causal_model, outcome_probabilities
from elicitation.training.organisms.blank import make_blank


def test_equal_seeds_are_equal_models_and_others_are_not(tmp_path):
    probabilities = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        model = load_causal_model(make_blank(tmp_path / name, seed=seed))
        found = outcome_probabilities(model, ["A die shows"], ["1", "2"])
        probabilities.append(found.probabilities.to_numpy())
    np.testing.assert_array_equal(probabilities[0], probabilities[1])
    assert (probabilities[0] != probabilities[2]).any()
