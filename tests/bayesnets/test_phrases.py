import re

import pytest

from bayesnets import Network, Node, load_network, load_phrases, plain_phrases
from bayesnets.phrases import positive_state
from coherence import InputError

WORDS = load_phrases("asia")


@pytest.mark.parametrize(
    ("evidence", "wording", "expected"),
    [
        ({}, 0, "comes to the clinic with no further information"),
        (
            {"smoke": None, "asia": float("nan")},
            0,
            "comes to the clinic with no further information",
        ),
        ({"smoke": "yes"}, 0, "is a smoker"),
        (
            {"xray": "no", "asia": "no"},
            0,
            "has not recently travelled to Asia and has a normal chest X-ray",
        ),
        (
            {"xray": "yes", "smoke": "yes", "asia": "no"},
            0,
            "has not recently travelled to Asia, is a smoker, and has an abnormal chest X-ray",
        ),
        (
            {"dysp": "yes", "bronc": "no", "either": "no"},
            1,
            "is short of breath, does not suffer from bronchitis, and suffers from neither "
            "tuberculosis nor lung cancer",
        ),
        (
            {"smoke": "no", "tub": "yes"},
            2,
            "has no smoking habit and is known to have tuberculosis",
        ),
    ],
)
def test_descriptions_to_the_byte(evidence, wording, expected):
    assert WORDS.describe(evidence, wording=wording) == expected


def test_questions_labels_and_names_to_the_byte():
    assert WORDS.question("lung") == "have lung cancer"
    assert WORDS.question("lung", "no") == "do not have lung cancer"
    assert WORDS.auxiliary_name("smoke") == "smoking status"
    assert WORDS.labels("smoke") == {"yes": "smoker", "no": "non-smoker"}
    assert WORDS.condition("smoke", "no") == "is not a smoker"
    assert (WORDS.default_target, WORDS.positive("lung")) == ("lung", "yes")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: WORDS.describe({"smok": "yes"}), "'smok' has none. Did you mean 'smoke'?"),
        (
            lambda: WORDS.describe({"smoke": "Yes"}),
            "state of 'smoke' must have words; 'Yes' has none. Did you mean 'yes'?",
        ),
        (
            lambda: WORDS.describe({}, wording=3),
            "wording must be a whole number from 0 to 2, not 3",
        ),
        (lambda: load_phrases("asai"), "not 'asai'. Did you mean 'asia'?"),
        (lambda: load_phrases("asai"), "Without a file, plain_phrases makes plain words."),
        (lambda: load_phrases("nowhere.toml"), "must be readable UTF-8 text"),
        (
            lambda: plain_phrases(load_network("asia"), "lung", "TRUE"),
            "target_state must be a state of 'lung', not 'TRUE'.",
        ),
        (
            lambda: plain_phrases(load_network("asia"), "lang", "yes"),
            "not 'lang'. Did you mean 'lung'?",
        ),
        (
            lambda: plain_phrases(
                Network("n", "n", "t", True, (Node("a", ("x:y", "z"), (), [0.5, 0.5]),)), "a", "z"
            ),
            "a has a colon in label 'x:y'",
        ),
    ],
)
def test_wrong_names_are_refused(call, message):
    with pytest.raises(InputError, match=re.escape(message)):
        call()


def test_only_a_name_that_says_so_makes_a_state_positive():
    assert positive_state(["no", "YES"]) == "YES"
    for states in (["low", "high"], ["yes", "true"], []):
        assert positive_state(states) is None
