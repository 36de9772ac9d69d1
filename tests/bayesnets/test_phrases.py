"""Words of networks: breaks if a phrase changes, or a fault of a file is not named."""

import inspect
import re
import textwrap
from importlib.resources import files

import pytest

from bayesnets import (
    Network,
    Node,
    load_network,
    load_phrases,
    network_names,
    plain_phrases,
    to_pgmpy,
)
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


TEXT = (files("bayesnets") / "networks" / "asia.toml").read_text(encoding="utf-8")


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
    text = (
        TEXT.replace('question = "are a smoker"\n', "")
        .replace('name = "lung cancer status"\n', "")
        .replace(', "smokes", "has a smoking habit"]', "]")
    )
    text = text.replace("[variables.xray.states.no]", "[variables.xray.states.clear]").replace(
        "[variables.dysp", "[variables.breath"
    )
    path = tmp_path / "words.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_phrases(path, load_network("asia"))
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


def own_network():
    return Network(
        "own", "own", "test", True, (Node("red, spots", ("many, large", "none"), (), [0.5, 0.5]),)
    )


def test_own_words_for_an_own_network(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN, encoding="utf-8")
    for words in (
        load_phrases(str(path)),
        load_phrases(path, own_network()),
        load_phrases(path, to_pgmpy(own_network())),
    ):
        assert words.describe({"red, spots": "many, large"}) == "has spots"
        assert words.question("red, spots") == "have no spots"
        assert words.subject == "a patient"
    path.write_text('subject = "a leaf"\n' + OWN, encoding="utf-8")
    assert load_phrases(path).subject == "a leaf"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "default_target",
            'subjekt = "a leaf"\ndefault_target',
            "the file has an unknown entry 'subjekt'",
        ),
        ("default_target", "subject = 3\ndefault_target", "the file has no subject"),
        ("default_target", "target", "'default_target' must be a variable, not None"),
        ('["is here"]', "[]", "'unobserved' must be a list of phrases, one per wording"),
        (
            '["is here"]',
            '["is here."]',
            "'unobserved' has a phrase that is not one line of text, without blanks around it or a "
            "full stop at its end: 'is here.'",
        ),
        (
            'name = "spots"',
            'named = "spots"',
            "red, spots has an unknown entry 'named'; red, spots has no name",
        ),
        (
            '"have no spots"',
            '"have no\\nspots"',
            "red, spots=none has a question that is not one line",
        ),
        ('"have no spots"', '"have spots"', "red, spots has question 'have spots' twice"),
        ('["has no spots"]', '["has spots"]', "red, spots has phrase 'has spots' twice"),
        (
            '["has no spots"]',
            '["has no spots "]',
            "red, spots=none has a phrase that is not one line",
        ),
        ('["has no spots"]', '"has no spots"', "red, spots=none has 0 phrases for 1 wordings"),
        (
            'label = "none"',
            'label = "none"\nlabels = "none"',
            "red, spots=none has an unknown entry 'labels'",
        ),
        ('label = "none"', 'label = "many"', "red, spots has label 'many' twice"),
        (
            'label = "none"',
            'label = "spots: none"',
            "red, spots has a colon in label 'spots: none'",
        ),
        ('positive = "none"', 'positive = "some"', "red, spots has no 'positive' state"),
    ],
)
def test_a_fault_of_own_words_is_named(old, new, fault, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(old, new, 1), encoding="utf-8")
    for network in (None, own_network()):
        with pytest.raises(InputError, match=re.escape(fault)):
            load_phrases(path, network)


def test_a_fault_that_concerns_every_state_is_told_once(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace('unobserved = ["is here"]\n', ""), encoding="utf-8")
    with pytest.raises(InputError, match="network; 1 error: 'unobserved' must be a list"):
        load_phrases(path)


def test_words_of_another_network_do_not_fit():
    with pytest.raises(InputError) as caught:
        load_phrases("cancer", load_network("survey"))
    message = str(caught.value)
    assert "[variables.Smoker] is no variable of network 'survey'" in message
    assert all(
        f"{name}={state} has no label" in message
        for name in "ASEORT"
        for state in load_network("survey").states(name)
    )


def test_the_file_of_the_docstring_can_be_read(tmp_path):
    example = inspect.getdoc(load_phrases).partition("needs::\n")[2].partition("Parameters\n")[0]
    path = tmp_path / "rain.toml"
    path.write_text(textwrap.dedent(example), encoding="utf-8")
    rain = Network("rain", "rain", "test", True, (Node("rain", ("yes", "no"), (), [0.5, 0.5]),))
    words = load_phrases(path, rain)
    assert (words.subject, words.describe({"rain": "no"}, wording=1), words.n_wordings) == (
        "a town",
        "is out of the rain",
        2,
    )


@pytest.mark.parametrize(
    "text",
    [
        "x = [",
        "x = " + "[" * 5000 + "]" * 5000,
        "",
        "variables = 3",
        "unobserved = []\n[variables]\na = 1",
    ],
)
def test_broken_files_are_refused(text, tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"must (hold TOML|cover the network)"):
        load_phrases(path)


@pytest.mark.parametrize("name", network_names())
def test_plain_words_of_the_catalogue_are_read_back(name, tmp_path, run):
    network, file = load_network(name), tmp_path / "words.toml"
    assert run("networks", "phrases", name, "--out", file)[0] == 0
    words = load_phrases(file, network)
    target = load_phrases(name).default_target
    assert words == plain_phrases(network, target, words.positive(target))
