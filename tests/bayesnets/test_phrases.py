import re

import pytest

from bayesnets import Network, load_network, load_phrases, network_names
from bayesnets.catalog import catalog_file
from coherence.errors import InputError

WORDS = load_phrases("asia")
TEXT = catalog_file("asia.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", network_names())
def test_every_state_of_every_network_has_words_in_every_wording(name):
    network, words = load_network(name), load_phrases(name)
    assert words.n_wordings >= 3
    assert words.default_target in network.names
    for node in network.nodes:
        assert set(words.labels(node.name)) == set(node.states)
        assert words.auxiliary_name(node.name)
        for state in node.states:
            phrases = [words.condition(node.name, state, wording=wording) for wording in range(words.n_wordings)]
            assert len(set(phrases)) == words.n_wordings
            assert all(phrase == phrase.strip(" .") for phrase in phrases)
    # No two states share a phrase, so that a description can be read back.
    everything = [phrase for variable in words.variables.values() for state in variable.states.values() for phrase in state.phrases]
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize(
    ("evidence", "wording", "expected"),
    [
        ({}, 0, "comes to the clinic with no further information"),
        ({"smoke": None, "asia": float("nan")}, 0, "comes to the clinic with no further information"),
        ({"smoke": "yes"}, 0, "is a smoker"),
        ({"xray": "no", "asia": "no"}, 0, "has not recently travelled to Asia and has a normal chest X-ray"),
        ({"xray": "yes", "smoke": "yes", "asia": "no"}, 0, "has not recently travelled to Asia, is a smoker, and has an abnormal chest X-ray"),
        (
            {"dysp": "yes", "bronc": "no", "either": "no"},
            1,
            "is short of breath, does not suffer from bronchitis, and suffers from neither tuberculosis nor lung cancer",
        ),
        ({"smoke": "no", "tub": "yes"}, 2, "has no smoking habit and is known to have tuberculosis"),
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


def test_all_missing_words_are_listed_at_once(tmp_path):
    text = (
        TEXT.replace('question = "are a smoker"\n', "")
        .replace('name = "lung cancer status"\n', "")
        .replace(', "smokes", "has a smoking habit"]', "]")
    )
    text = text.replace("[variables.xray.states.no]", "[variables.xray.states.clear]").replace("[variables.dysp", "[variables.breath")
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


def test_own_words_for_an_own_network(tmp_path):
    text = '{"name": "own", "nodes": [{"name": "red, spots", "states": ["many, large", "none"], "table": [0.5, 0.5]}]}'
    path = tmp_path / "own.toml"
    path.write_text(
        'default_target = "red, spots"\nunobserved = ["is here"]\n[variables."red, spots"]\nname = "spots"\npositive = "none"\n'
        '[variables."red, spots".states."many, large"]\nlabel = "many"\nquestion = "have spots"\nphrases = ["has spots"]\n'
        '[variables."red, spots".states.none]\nlabel = "none"\nquestion = "have no spots"\nphrases = ["has no spots"]\n',
        encoding="utf-8",
    )
    for words in (load_phrases(str(path)), load_phrases(path, Network.from_json(text))):
        assert words.describe({"red, spots": "many, large"}) == "has spots"
        assert words.question("red, spots") == "have no spots"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: WORDS.describe({"smok": "yes"}), "'smok' has none. Did you mean 'smoke'?"),
        (lambda: WORDS.describe({"smoke": "Yes"}), "state of 'smoke' must have words; 'Yes' has none. Did you mean 'yes'?"),
        (lambda: WORDS.describe({}, wording=3), "wording must be a whole number from 0 to 2, not 3"),
        (lambda: load_phrases("asai"), "not 'asai'. Did you mean 'asia'?"),
        (lambda: load_phrases("nowhere.toml"), "must be readable UTF-8 text"),
    ],
)
def test_wrong_names_are_refused(call, message):
    with pytest.raises(InputError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("text", ["x = [", "", "variables = 3", "unobserved = []\n[variables]\na = 1"])
def test_broken_files_are_refused(text, tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"must (hold TOML|cover the network)"):
        load_phrases(path)
