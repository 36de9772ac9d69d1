"""An argument of another kind is named, whatever the function."""

import pytest

import bayesnets
import coherence
import elicitation

CALLS = {
    "answers of score_mixing": (lambda: coherence.score_mixing(None), "answers must be"),
    "table of own questions": (
        lambda: elicitation.plan_own_questions(None, elicitation.Design()),
        "questions must be",
    ),
    "cases of plan_task": (
        lambda: elicitation.plan_task(elicitation.load_task("asia"), None, elicitation.Design()),
        "cases must be",
    ),
    "cases of coverage": (lambda: bayesnets.coverage(None), "cases must"),
    "network of to_pgmpy": (lambda: bayesnets.to_pgmpy(None), "network must be"),
    "items of value_questions": (lambda: elicitation.value_questions(None), "items must be"),
    "items of bet_questions": (lambda: elicitation.bet_questions("x"), "items must be"),
    "items of ladder_questions": (lambda: elicitation.ladder_questions(3), "items must be"),
    "options of decode_choice": (lambda: coherence.decode_choice("A", [1, 2]), "options must be"),
    "labels of decode_distribution": (
        lambda: coherence.decode_distribution("a: 0.5", b"ab"),
        "labels must be",
    ),
    "bins of calibration_estimates": (
        lambda: coherence.calibration_estimates([0.1] * 30, [0, 1] * 15, n_bins=1.5),
        "n_bins must be a whole number",
    ),
    "a number beyond all floats": (
        lambda: coherence.residual_covariance_test([10**400], ["a"], [1]),
        "belief must hold numbers",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_is_named(name):
    call, told = CALLS[name]
    with pytest.raises(coherence.InputError, match=told):
        call()
