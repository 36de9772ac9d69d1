import inspect
import re
import textwrap

import pytest

from bayesnets import Network, Node, load_network, load_phrases, plain_phrases, to_pgmpy
from bayesnets.catalog import catalog_text
from coherence import InputError

TEXT = catalog_text("asia.toml")


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


def test_plain_words_come_from_the_names():
    words = plain_phrases(own_network(), "red, spots", "none", subject="a leaf")
    assert words.describe({"red, spots": "many, large"}) == "has red, spots = many, large"
    assert words.describe({}) == "has no value on record"
    assert words.question("red, spots") == "have red, spots = none"
    assert words.labels("red, spots") == {"many, large": "many, large", "none": "none"}
    assert (
        words.auxiliary_name("red, spots"),
        words.n_wordings,
        words.subject,
        words.default_target,
    ) == ("red, spots", 1, "a leaf", "red, spots")
    alarm = plain_phrases(load_network("alarm"), "HYPOVOLEMIA", "FALSE")
    assert (alarm.positive("HYPOVOLEMIA"), alarm.positive("BP")) == ("FALSE", "LOW")


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
