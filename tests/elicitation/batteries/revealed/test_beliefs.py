import pytest

from coherence import score_beliefs
from elicitation import reveal
from elicitation.batteries.revealed.questions import belief_questions, tabulate_beliefs
from elicitation.batteries.revealed.scenarios import choice, dice, preference


def test_a_number_is_not_the_beginning_of_a_longer_one(store, teller):
    setting = dice.single(1, 12)
    continuations = {f" {k}": 1 / 24 for k in range(1, 13)}
    model = teller(dict.fromkeys(setting.texts.values(), continuations))
    table = reveal(model, [setting], store)
    scores = score_beliefs(table)
    assert scores["chebyshev"].to_numpy() == pytest.approx(0)
    assert scores["answer_mass"].to_numpy() == pytest.approx(0.5)
    # Counted as beginnings, 1 takes what belongs to 10, 11 and 12: four shares out of fifteen, the
    # famous bias towards face 1.
    assert scores["first_excess_beginning"].to_numpy() == pytest.approx(4 / 15 - 1 / 12)
    assert list(table["wording"].unique()) == ["standard", "story", "record"]


def test_a_real_model_is_read_as_by_outcome_probabilities(model, store):
    from elicitation import outcome_probabilities

    settings = [dice.single(1, 12), choice.single(4), preference.single("Yes", "No")]
    table = reveal(model, settings, store)
    for setting in settings:
        for wording, text in setting.texts.items():
            rows = table[(table["setting"] == setting.name) & (table["wording"] == wording)]
            options = {"ignore_case": True} if setting.scenario == "preference" else {}
            exact = outcome_probabilities(
                model, [text], setting.outcomes, tolerance=1e-15, **options
            ).probabilities.iloc[0]
            assert rows["mass"].to_numpy() == pytest.approx(exact.to_numpy(), rel=1e-3, abs=1e-12)
            if setting.numeric:
                assert (rows["mass_beginning"] >= rows["mass"] * 0.98).all()


def test_tabulated_beliefs_hold_the_exact_truth():
    setting = dice.single(2, 6)
    table = tabulate_beliefs(
        [(belief_questions([setting])[0], dict.fromkeys(setting.outcomes, 0.0))], source="m"
    )
    assert table.loc[table["outcome"] == "7", "exact"].item() == "1/6"
    assert table["mass_beginning"].isna().all()
