"""Which design a message proposes: that of the column within which the truth is constant."""

import numpy as np
import pandas as pd
import pytest

import coherence


def _panel(*, shared: bool) -> pd.DataFrame:
    """Forty people on 25 vignettes, coherent; vignettes of everybody, or of each alone twice."""
    rng = np.random.default_rng(1)
    chance = rng.random(25)
    person, case = np.divmod(np.arange(1_000), 25)
    belief = np.clip(chance[case] + rng.normal(0, 0.15, 1_000), 0.01, 0.99)
    names = [f"V{c}" if shared else f"V{c}/{p // 2 * 2}" for p, c in zip(person, case, strict=True)]
    truth = (rng.random(25) < chance).astype(int)[case]
    return pd.DataFrame(
        {
            "who": [f"P{p if shared else p // 2}" for p in person],
            "vignette": names,
            "p": belief.round(2),
            "action": (rng.random(1_000) < belief).astype(int),
            "theta": truth,
        }
    )


@pytest.mark.parametrize(("shared", "role"), [(True, "--person"), (False, "--group")])
def test_the_column_of_cases_is_proposed_and_right(shared: bool, role: str):
    """Breaks if a group is proposed for who judged shared cases, or what is proposed rejects."""
    table = _panel(shared=shared)
    with pytest.raises(coherence.SchemaError, match=f"--context vignette {role} who") as refused:
        coherence.analyze(table, columns={"context": "who"})
    assert "in place of" not in str(refused.value)
    named = {"context": "vignette", role.removeprefix("--"): "who"}
    result = coherence.analyze(table, columns=named, checks=["sufficiency"], rng=1)
    assert result.evaluations[0].results[0].pvalue > 0.05


def test_a_person_of_cases_of_ones_own():
    """Breaks if persons are made groups although a column says what they share."""
    table = _panel(shared=True)
    table["item"] = table["who"] + table["vignette"]
    with pytest.raises(coherence.SchemaError, match="--context vignette --person who"):
        coherence.analyze(table, columns={"context": "item", "person": "who"})
