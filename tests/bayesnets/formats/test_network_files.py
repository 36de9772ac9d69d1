import os
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayesnets import Network, Node, load_network, to_pgmpy
from bayesnets.formats.network_files import read_network, write_network
from coherence.errors import InputError

SUFFIXES = ("bif", "xml", "xmlbif", "json")


RAIN = """network "My garden" {
    property author = "someone; else" ; // the semicolon is quoted
}
/* states with
   a space */
variable rain { type discrete [ 2 ] { "heavy rain", no }; property "position = (1, 2)" ; }
variable "wet grass" { type discrete[2] { yes no }; }
probability ( rain ) { table 0.25, 0.75; }
probability ( "wet grass" | rain ) {
    ("heavy rain") 0.9, 0.1;
    (no) 1e-1, .9;
}
"""


RAIN_XML = """<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ELEMENT NAME (#PCDATA)> ]>
<BIF VERSION="0.3"><NETWORK><NAME>My garden</NAME>
<VARIABLE TYPE="nature">\
<NAME>rain</NAME><OUTCOME>heavy rain</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>wet grass</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<DEFINITION><FOR>rain</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
<DEFINITION><FOR>wet grass</FOR><GIVEN>rain</GIVEN>
<TABLE>0.9 0.1 <!-- heavy rain -->
 1e-1 .9</TABLE></DEFINITION>
</NETWORK></BIF>
"""


RAIN_JSON = """{"name": "My garden", "nodes": [
{"name": "rain", "states": ["heavy rain", "no"], "table": [0.25, 0.75]},
{"name": "wet grass", "states": ["yes", "no"], "parents": ["rain"],
 "table": [[0.9, 0.1], [0.1, 0.9]]}]}
"""


TEXTS = {"bif": RAIN, "xml": RAIN_XML, "json": RAIN_JSON}


@pytest.mark.parametrize("suffix", TEXTS)
def test_the_same_network_in_each_format(written, suffix):
    network = read_network(written(TEXTS[suffix], suffix))
    assert (network.name, network.names) == ("My garden", ("rain", "wet grass"))
    assert network.states("rain") == ("heavy rain", "no")
    assert network.node("rain").table.tolist() == [0.25, 0.75]
    assert network.node("wet grass").parents == ("rain",)
    # P(wet | heavy rain) = .9, P(wet | no) = .1: the first axis is the variable's own.
    assert network.node("wet grass").table.tolist() == [[0.9, 0.1], [0.1, 0.9]]
    assert not network.illustrative


names = st.text(
    st.one_of(
        st.sampled_from(" ,;\"'\\|(){}[]<>&%$/*-_#\xa0\u2028é漢\U0001f327"),
        st.characters(exclude_categories=("Cc", "Cs", "Cn")),
    ),
    min_size=1,
    max_size=12,
)


@st.composite
def networks(draw):
    variables = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    nodes = []
    for position, name in enumerate(variables):
        earlier = (
            draw(st.lists(st.sampled_from(variables[:position]), unique=True, max_size=2))
            if position
            else []
        )
        states = draw(st.lists(names, min_size=1, max_size=3, unique=True))
        shape = (
            *(
                len(next(node for node in nodes if node.name == parent).states)
                for parent in earlier
            ),
            len(states),
        )
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        nodes.append(
            Node(
                name,
                tuple(states),
                tuple(earlier),
                np.moveaxis(rng.dirichlet(np.ones(len(states)), size=shape[:-1]), -1, 0),
            )
        )
    illustrative = draw(st.booleans())
    tables = draw(
        st.sampled_from([None, "published", "fitted", *(["illustrative"] if illustrative else [])])
    )
    return Network(
        draw(names),
        draw(names),
        draw(st.one_of(st.just(""), names)),
        illustrative,
        tuple(nodes),
        draw(st.one_of(st.just(""), names)),
        tables,
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(network=networks())
def test_what_is_written_is_read_back_whatever_the_names(suffix, tmp_path, network):
    path = tmp_path / f"any.{suffix}"
    write_network(network, path)
    back = read_network(path)
    assert back == network
    assert (back.description, back.tables) == (network.description, network.tables), (
        "which the comparison leaves out"
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_that_look_like_the_format(tmp_path, suffix):
    nodes = [
        Node("table", ("default", "]]>", "//", "/*"), (), np.full(4, 0.25)),
        Node("a\\", ('"', " b ", "0.5"), ("table",), np.full((3, 4), 1 / 3)),
    ]
    network = Network("probability", "<b>", "; // */", True, tuple(nodes))
    write_network(network, tmp_path / f"odd.{suffix}")
    assert read_network(tmp_path / f"odd.{suffix}") == network


JSON_FAULTS = {
    "cut": ("]}]}", "", "must hold JSON"),
    "sum": (
        "[0.1, 0.9]]",
        "[0.1, 0.8]]",
        "'wet grass' must hold distributions over its states (in [0, 1], sum 1 within 1e-08); "
        "1 of 2 columns do not",
    ),
    "nan": ("0.25", "NaN", "'rain' must hold distributions"),
    "huge": ("0.25", "1" + "0" * 400, "'rain' must be a full array of numbers"),
    "states": ('["yes", "no"]', "3", "must be a sequence of names, not 3"),
    "count": ('["yes", "no"]', '["yes"]', "must have shape (1, 2)"),
    "parent": ('["rain"]', '["rian"]', "'rian' is not. Did you mean 'rain'?"),
    "twice": ('"wet grass"', '"rain"', "names must be unique; 'rain'"),
}


@pytest.mark.parametrize("fault", JSON_FAULTS)
def test_faults_of_a_json_file_name_the_file(written, fault):
    old, new, message = JSON_FAULTS[fault]
    assert old in RAIN_JSON
    path = written(RAIN_JSON.replace(old, new), "json")
    for normalize in (False, True) if fault not in ("sum",) else (False,):
        with pytest.raises(InputError, match=re.escape(message)) as caught:
            read_network(path, normalize=normalize)
        assert str(path) in str(caught.value)


def test_files_that_cannot_be_read(tmp_path, written):
    with pytest.raises(InputError, match="No such file"):
        read_network(tmp_path / "nowhere.bif")
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        read_network(tmp_path / "folder.bif")
    with pytest.raises(InputError, match="must end in .bif, .xml, .xmlbif, .json; .* does not"):
        read_network(tmp_path / "network.net")
    with pytest.raises(InputError, match="is empty"):
        read_network(written(" \n"))
    with pytest.raises(InputError, match="it has none. Is it empty or truncated"):
        read_network(written("network x { }"))
    with pytest.raises(InputError, match="line 6: the file must be UTF-8 text; byte"):
        read_network(written(RAIN.replace("heavy", "schön").encode("latin-1")))


def test_the_mark_of_a_windows_editor_and_its_line_ends_are_no_fault(written):
    assert read_network(
        written(b"\xef\xbb\xbf" + RAIN.replace("\n", "\r\n").encode())
    ) == read_network(written(RAIN))


def test_writing_replaces_the_file_in_one_step(tmp_path, monkeypatch):
    network, path = load_network("asia"), tmp_path / "asia.bif"
    path.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(
            os,
            "replace",
            lambda source, target: (_ for _ in ()).throw(OSError(28, "No space left on device")),
        )
        with pytest.raises(OSError, match="No space"):
            write_network(network, path)
    assert path.read_text() == "old"
    write_network(to_pgmpy(network), path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["asia.bif"], (
        "no temporary file is left"
    )
    assert read_network(path).names


def test_what_cannot_be_written(tmp_path):
    network = load_network("asia")
    with pytest.raises(InputError, match="must end in"):
        write_network(network, tmp_path / "asia.net")
    with pytest.raises(InputError, match="must lie in a folder that can be written to"):
        write_network(network, tmp_path / "nowhere" / "asia.bif")
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(InputError, match="is a folder. Name a file in it"):
        write_network(network, tmp_path / "folder.bif")
    bell = Network("n", "t", "s", False, (Node("a\x07", ("x",), (), np.array([1.0])),))
    for suffix in ("bif", "xml"):
        with pytest.raises(InputError, match="must be free of control characters"):
            write_network(bell, tmp_path / f"bell.{suffix}")
    write_network(bell, tmp_path / "bell.json")
    assert read_network(tmp_path / "bell.json") == bell
    with pytest.raises(InputError, match="must be free of control characters"):
        write_network(Network("n", "t", "\ud800", False, bell.nodes), tmp_path / "bell.json")


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("table", ['["0.01", "0.99"]', "[true, false]"])
def test_a_json_table_of_texts_or_truth_values_is_refused(tmp_path, table, normalize):
    path = tmp_path / "x.json"
    node = f'{{"name": "a", "states": ["x", "y"], "parents": [], "table": {table}}}'
    path.write_text(f'{{"name": "x", "nodes": [{node}]}}')
    with pytest.raises(InputError, match=r"x\.json: table of node 'a' must hold numbers; the"):
        read_network(path, normalize=normalize)
