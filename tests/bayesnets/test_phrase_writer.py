"""Words as a file: breaks if what is read back is not what was written."""

import pytest

from bayesnets import Network, Node, load_network, load_phrases, network_names, plain_phrases
from bayesnets.phrase_files import format_phrases


@pytest.mark.parametrize("name", network_names())
def test_words_of_the_catalogue_and_plain_ones_are_read_back(name, tmp_path):
    network, file = load_network(name), tmp_path / "words.toml"
    target = network.names[-1]
    for words in (load_phrases(name), plain_phrases(network, target, network.states(target)[0])):
        file.write_text(format_phrases(words, network=name), encoding="utf-8")
        assert load_phrases(file, network) == words


def test_names_of_any_kind_are_quoted(tmp_path):
    states = ('a "quoted" one', "b\\c", "dé", "x\x7fy", "true")
    network = Network("n\nm", "n", "", False, (Node("wet grass", states, (), [0.2] * 5),))
    words = plain_phrases(network, "wet grass", "dé", subject="a 'lawn' # 1")
    file = tmp_path / "words.toml"
    file.write_text(format_phrases(words, network=network.name), encoding="utf-8")
    assert load_phrases(file, network) == words
