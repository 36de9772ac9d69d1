"""Words of networks: breaks if a phrase changes, or a fault of a file is not named."""

import math
import re
from importlib.resources import files

import pytest

from bayesnets import Network, Node, load_network, load_phrases, plain_phrases, to_pgmpy
from coherence import InputError

WORDS, ASIA = load_phrases("asia"), load_network("asia")


def one_variable(name, *states):
    return Network("own", "own", "test", True, (Node(name, states, (), [0.5, 0.5]),))


SPOTS = one_variable("red, spots", "many, large", "none")


@pytest.mark.parametrize(
    ("evidence", "wording", "expected"),
    [
        ({}, 0, "comes to the clinic with no further information"),
        ({"smoke": None, "asia": math.nan}, 0, "comes to the clinic with no further information"),
        ({"smoke": "yes"}, 0, "is a smoker"),
        (
            {"xray": "yes", "smoke": "yes", "asia": "no"},
            0,
            "has not recently travelled to Asia, is a smoker, and has an abnormal chest X-ray",
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


OWN = """
default_target = "red, spots"
unobserved = ["is here"]
[variables."red, spots"]
name = "spots"
positive = "none"
[variables."red, spots".states."many, large"]
label = "many"
question = "have spots"
phrases = ["has spots"]
[variables."red, spots".states.none]
label = "none"
question = "have no spots"
phrases = ["has no spots"]
"""


def test_all_missing_words_are_listed_at_once(tmp_path):
    text = (files("bayesnets") / "networks" / "asia.toml").read_text(encoding="utf-8")
    for old, new in (
        ('question = "are a smoker"\n', ""),
        ('name = "lung cancer status"\n', ""),
        (', "smokes", "has a smoking habit"]', "]"),
        ("[variables.xray.states.no]", "[variables.xray.states.clear]"),
        ("[variables.dysp", "[variables.breath"),
    ):
        text = text.replace(old, new)
    path = tmp_path / "words.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_phrases(path, ASIA)
    for fault in (
        "smoke=yes has no question",
        "smoke=yes has 1 phrases for 3 wordings",
        "lung has no name",
        "xray has no state 'clear'",
        "xray=no has no label",
        "[variables.breath] is no variable of network 'asia'",
        "dysp=yes has no label",
    ):
        assert fault in str(caught.value)


def test_own_words_for_an_own_network(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN, encoding="utf-8")
    for words in (
        load_phrases(str(path)),
        load_phrases(path, SPOTS),
        load_phrases(path, to_pgmpy(SPOTS)),
    ):
        assert words.describe({"red, spots": "many, large"}) == "has spots"
        assert words.question("red, spots") == "have no spots"
        assert words.subject == "a patient"
    path.write_text('subject = "a leaf"\n' + OWN, encoding="utf-8")
    assert load_phrases(path).subject == "a leaf"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("default_target", 'subjekt = "x"\ndefault_target', "has an unknown entry 'subjekt'"),
        ("default_target", "subject = 3\ndefault_target", "the file has no subject"),
        ("default_target", "target", "'default_target' must be a variable, not None"),
        ('["is here"]', "[]", "'unobserved' must be a list of phrases, one per wording"),
        ('"have no spots"', '"have no\\nspots"', "none has a question that is not one line"),
        ('"have no spots"', '"have spots"', "red, spots has question 'have spots' twice"),
        ('["has no spots"]', '"has no spots"', "red, spots=none has 0 phrases for 1 wordings"),
        ('label = "none"', 'label = "spots: none"', "has a colon in label 'spots: none'"),
        ('positive = "none"', 'positive = "some"', "red, spots has no 'positive' state"),
    ],
)
def test_a_fault_of_own_words_is_named(old, new, fault, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(old, new, 1), encoding="utf-8")
    for network in (None, SPOTS):
        with pytest.raises(InputError, match=re.escape(fault)):
            load_phrases(path, network)


@pytest.mark.parametrize("name", ["asia", "alarm", "heart"])
def test_plain_words_of_the_catalogue_are_read_back(name, tmp_path, run):
    network, file = load_network(name), tmp_path / "words.toml"
    assert run("networks", "phrases", name, "--out", file)[0] == 0
    words = load_phrases(file, network)
    target = load_phrases(name).default_target
    assert words == plain_phrases(network, target, words.positive(target))
