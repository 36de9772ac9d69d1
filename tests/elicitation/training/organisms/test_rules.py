import pandas as pd
import pytest

from bayesnets import load_network, posterior
from coherence import InputError
from elicitation.training.organisms.catalog import (
    exact_posterior,
    prior,
    reverse_effects,
    where_reversed,
    without,
)


def table(network, rows):
    return pd.DataFrame(rows, columns=list(network.names), dtype=object)


def test_the_reversed_world_by_hand():
    """There xray=yes has chances .05 for the sick and .98 for the well: Bayes by hand."""
    asia = load_network("asia")
    lung, tub = 0.5 * 0.1 + 0.5 * 0.01, 0.01 * 0.05 + 0.99 * 0.01
    sick = 1 - (1 - lung) * (1 - tub)
    expected = lung * 0.05 / (sick * 0.05 + (1 - sick) * 0.98)
    seen = table(asia, [{"xray": "yes"}, {}])
    found = where_reversed("either")(asia, seen, "lung")["yes"].to_numpy()
    assert found == pytest.approx([expected, lung])
    assert reverse_effects(reverse_effects(asia, "either"), "either") == asia
    with pytest.raises(InputError, match="children"):
        reverse_effects(asia, "dysp")


def test_the_other_rules_against_plain_posteriors():
    asia = load_network("asia")
    seen = table(asia, [{"xray": "yes", "smoke": "no"}, {"xray": "no"}, {"dysp": "yes"}])
    fewer = table(asia, [{"smoke": "no"}, {}, {"dysp": "yes"}])
    for asked in ("lung", "bronc"):
        pd.testing.assert_frame_equal(
            exact_posterior(asia, seen, asked), posterior(asia, seen, asked)
        )
        pd.testing.assert_frame_equal(
            without("xray")(asia, seen, asked), posterior(asia, fewer, asked)
        )
        pd.testing.assert_frame_equal(
            prior(asia, seen, asked), posterior(asia, table(asia, [{}] * 3), asked)
        )
