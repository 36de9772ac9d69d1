import pytest

from coherence.errors import InputError
from elicitation.questions.design import Design, check_cases


def test_exact_answers_are_asked_for_once_and_others_five_times():
    assert Design(answers="exact").n_reps == 1
    assert Design(answers="exact", reps=1).n_reps == 1
    assert Design(answers="forced").n_reps == Design().n_reps == 5
    assert Design(reps=3).n_reps == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"answers": "exact", "reps": 2}, "answers='exact' draws nothing: reps and temperature"),
        ({"answers": "exact", "temperature": 0.0}, "received None and 0.0. Leave them out"),
        ({"answers": "guided"}, "answers must be one of drawn, forced, exact; received 'guided'"),
        ({"min_mass": 1.5}, r"min_mass must be in \[0, 1\]; received 1.5"),
        ({"min_mass": float("nan")}, "min_mass must be in"),
        ({"answers": "exact", "belief": "sampled"}, "Take belief='token'"),
        ({"answers": "forced", "belief": "sampled"}, "received answers='forced'"),
        ({"temperature": float("nan")}, "temperature and seed must be at least 0"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(InputError, match=message):
        Design(**options)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"x_1": "yes"}, "'x_1' is not"),
        ({"x_smoke": "maybe"}, "'x_smoke' of cases must hold states that have words; 'maybe'"),
        ({"x_smoke": [["yes"]] * 12}, "'x_smoke' of cases must hold states"),
        ({"z": "smok"}, "column 'z' of cases must name variables .* 'smok' has none. .*'smoke'"),
    ],
)
def test_cases_without_words_are_named_by_their_column(asia, cases, change, told):
    with pytest.raises(InputError, match=told):
        check_cases(cases.assign(**change), asia.phrases, iterated=True)
