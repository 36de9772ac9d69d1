import gzip
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayesnets import Network, Node, from_pgmpy, load_network, read_network, write_network
from coherence import InputError

SUFFIXES = ("bif", "xmlbif", "bif.gz", "json.gz")


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


@pytest.fixture
def written(tmp_path):
    """Return a function that puts text or bytes into a file of the given ending."""

    def write(text, suffix="bif"):
        path = tmp_path / f"mine.{suffix}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


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


def test_the_two_formats_order_a_whole_table_differently(written):
    # BIF: own states change slowest. XML: they change fastest. Three states against two, so that a
    # mix-up cannot hide.
    bif = """network { } variable a { type discrete [ 2 ] { x, y }; }
variable b { type discrete [ 3 ] { u, v, w }; }
probability ( a ) { table .5 .5; }
probability ( b a ) { table .1 .2  .3 .3  .6 .5; }"""
    xml = """<BIF><NETWORK>
<VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<VARIABLE><NAME>b</NAME><OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME><OUTCOME>w</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>.5 .5</TABLE></DEFINITION>
<PROBABILITY><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>.1 .3 .6  .2 .3 .5</TABLE></PROBABILITY>
</NETWORK></BIF>"""
    for text, suffix in ((bif, "bif"), (xml, "xml")):
        table = read_network(written(text, suffix)).node("b").table
        assert table.tolist() == [[0.1, 0.2], [0.3, 0.3], [0.6, 0.5]]


def test_default_rows_and_files_without_a_name(written):
    text = RAIN.replace('"My garden"', "").replace("(no) 1e-1, .9;", "default 0.3, 0.7;")
    network = read_network(written(text))
    assert (network.name, network.title, network.source) == ("mine", "mine", "file mine.bif")
    assert network.node("wet grass").table.tolist() == [[0.9, 0.3], [0.1, 0.7]]


names = st.text(
    st.one_of(
        st.sampled_from(",;'\"\\|(){}[]<>&%$/*-_#\u2028é漢\U0001f327"),
        st.characters(exclude_categories=("Cc", "Cs", "Cn", "Z")),
    ),
    min_size=1,
    max_size=12,
).map(lambda text: text.replace("%", " ").strip() or "%")


@st.composite
def networks(draw):
    variables = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    nodes = []
    for position, name in enumerate(variables):
        earlier = st.lists(st.sampled_from(variables[:position] or [""]), unique=True, max_size=2)
        parents = tuple(draw(earlier)) if position else ()
        states = draw(st.lists(names, min_size=1, max_size=3, unique=True))
        sizes = {node.name: len(node.states) for node in nodes}
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        shape = tuple(sizes[parent] for parent in parents)
        table = np.moveaxis(rng.dirichlet(np.ones(len(states)), size=shape), -1, 0)
        nodes.append(Node(name, tuple(states), parents, table))
    illustrative = draw(st.booleans())
    labels = [None, "published", "fitted", *(["illustrative"] if illustrative else [])]
    maybe = st.one_of(st.just(""), names)
    name, title, source = draw(names), draw(names), draw(maybe)
    description, tables = draw(maybe), draw(st.sampled_from(labels))
    return Network(name, title, source, illustrative, tuple(nodes), description, tables)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(network=networks())
def test_what_is_written_is_read_back_whatever_the_names(suffix, tmp_path, network):
    path = tmp_path / f"any.{suffix}"
    texts = [text for node in network.nodes for text in (node.name, *node.states)]
    refused = suffix.startswith("bif") and any('"' in text for text in texts)
    if suffix == "xmlbif":
        texts += [network.name, network.title, network.source, network.description]
        refused = any(text != text.strip() for text in texts)
    if refused:
        with pytest.raises(InputError, match="must be free of"):
            write_network(network, path)
        return
    write_network(network, path)
    back = read_network(path)
    assert back == network
    # The comparison leaves these out.
    assert (back.description, back.tables) == (network.description, network.tables)


FAULTS = {
    "bif: no entry": ("(no) 1e-1, .9;", "(no) 1e-1, .9; rest", "wet grass"),
    "bif: table count": ("table 0.25, 0.75", "table 0.25", "'rain'"),
    "bif: no brace": ("variable rain {", "variable rain", "line 6"),
    "bif: no quote": ('variable "wet grass"', "variable wet grass", "line 7"),
    "bif: open quote": ('variable "wet grass"', 'variable "wet grass', "line 7"),
    "bif: count": ("discrete[2]", "discrete[3]", "line 7"),
    "bif: continuous": ("discrete [", "continuous [", "line 6"),
    "bif: twice": ('variable "wet grass"', "variable rain", "rain"),
    "bif: no table": ("probability ( rain ) { table 0.25, 0.75; }", "", "rain"),
    "bif: unknown parent": ("| rain )", "| rian )", "Did you mean 'rain'"),
    "bif: unknown state": ("(no)", "(none)", "wet grass"),
    "bif: row twice": ("(no)", '("heavy rain")', "wet grass"),
    "bif: row missing": ("(no) 1e-1, .9;", "", "wet grass"),
    "bif: words": ("1e-1, .9", "one, two", "wet grass"),
    "bif: cut": ("(no) 1e-1, .9;\n}\n", "(no) 1e-1", "line 9"),
    "bif: table and rows": ("(no) 1e-1, .9;", "table .1 .2 .9 .8;", "wet grass"),
    "xml: no network": ("NETWORK>", "NETZ>", "NETWORK"),
    "xml: count": (" 1e-1 .9", " 1e-1", "wet grass"),
    "xml: cut": ("</NETWORK></BIF>\n", "", "must hold XML"),
    "xml: decision": ('TYPE="nature"><NAME>wet', 'TYPE="decision"><NAME>wet', "wet grass"),
    "xml: no table": ("<TABLE>0.25 0.75</TABLE>", "", "rain"),
    "xml: given": ("<GIVEN>rain<", "<GIVEN>rian<", "Did you mean 'rain'"),
    "xml: defined twice": ("wet grass</FOR><GIVEN>rain</GIVEN>", "rain</FOR>", "'rain'"),
    "xml: encoding": ('version="1.0"', 'version="1.0" encoding="klingon"', "must hold XML"),
    "xml: two networks": ("</NETWORK>", "</NETWORK><NETWORK/>", "found 2 inside BIF"),
    "json: cut": ("]}]}", "", "must hold JSON"),
    "json: nan": ("0.25", "NaN", "'rain'"),
    "json: text": ("[0.25, 0.75]", '["0.25", "0.75"]', "table of node 'rain' must hold numbers"),
    "json: states": ('["yes", "no"]', "3", "must be a sequence"),
    "json: deep": ('"My garden"', "[" * 5000 + "]" * 5000, "must hold JSON"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_file_is_one_line_with_the_file_and_the_place(written, fault):
    old, new, place = FAULTS[fault]
    suffix = fault.partition(":")[0]
    assert old in TEXTS[suffix]
    path = written(TEXTS[suffix].replace(old, new), suffix)
    with pytest.raises(InputError, match=re.escape(place)) as caught:
        read_network(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path, written):
    (tmp_path / "folder.bif").mkdir()
    broken = nested("network x {\n}\n" + RAIN.partition("}\n")[2])[:-2]
    for path, message in (
        (tmp_path / "nowhere.bif", "No such file"),
        (tmp_path / "folder.bif", "it is a folder"),
        (tmp_path / "network.net", "must end in .bif, .xml, .* or .json, each also with .gz .*"),
        (" \n", "is empty"),
        ("network x { }", "it has none. Is it empty or cut off"),
        (RAIN.replace("heavy", "schön").encode("latin-1"), "line 6: the file must be UTF-8 text"),
        (broken, "Is the file cut off"),
        (gzip.compress(RAIN.encode())[:-20], "damaged or cut short"),
    ):
        with pytest.raises(InputError, match=message):
            read_network(path if hasattr(path, "name") else written(path))


def test_the_mark_of_a_windows_editor_and_its_line_ends_are_no_fault(written):
    assert read_network(
        written(b"\xef\xbb\xbf" + RAIN.replace("\n", "\r\n").encode())
    ) == read_network(written(RAIN))


def nested(text):
    """A BIF text with its variables and tables inside the block of the network."""
    opening, end, blocks = text.partition("{\n}\n")
    assert end
    return f"{opening}{{\n{blocks}}}\n"


DEFAULT = ' xmlns="http://www.cs.ubc.ca/labs/lci/fopi/ve/XMLBIFv0_3"'
FOUND = {
    "default namespace": ("xml", lambda text: text.replace("<BIF ", f"<BIF{DEFAULT} ")),
    "prefixed namespace": (
        "xml",
        lambda text: re.sub(r"<(/?)([A-Z])", r"<\1bif:\2", text).replace(
            "<bif:BIF ", f"<bif:BIF{DEFAULT.replace('xmlns', 'xmlns:bif')} "
        ),
    ),
    "root is the network": (
        "xml",
        lambda text: text.replace('<BIF VERSION="0.3">\n', "").replace("</BIF>\n", ""),
    ),
    "ending of other programs": ("bifxml", lambda text: text),
    "packed": ("bif.gz", lambda text: gzip.compress(text.encode())),
    "packed, with another name": ("bif", lambda text: gzip.compress(text.encode())),
    "nested": ("bif", nested),
}


@pytest.mark.parametrize("form", FOUND)
def test_the_forms_in_which_files_are_found(written, tmp_path, form):
    suffix, changed = FOUND[form]
    survey = load_network("survey")
    plain = tmp_path / ("plain.bif" if suffix.startswith("bif") and "x" not in suffix else "p.xml")
    write_network(survey, plain)
    assert read_network(written(changed(plain.read_text(encoding="utf-8")), suffix)) == survey


def test_a_table_that_no_machine_can_hold_is_refused_before_it_is_made(written):
    parents = [f"v{number}" for number in range(60)]
    two = "variable {} {{ type discrete [ 2 ] {{ x, y }}; }}\n"
    text = "network { }\n" + "".join(two.format(name) for name in [*parents, "child"])
    text += f"probability ( child | {', '.join(parents)} ) {{ default 0.5, 0.5; }}\n"
    text += "".join(f"probability ( {name} ) {{ table 0.5, 0.5; }}\n" for name in parents)
    with pytest.raises(InputError, match="'child' must have at most 67108864 entries; 60 parents"):
        read_network(written(text))


@pytest.mark.parametrize("suffix", TEXTS)
def test_columns_that_rounding_moved_are_divided_by_their_sums_with_a_warning(written, suffix):
    rounded = {
        "bif": ("1e-1, .9", "0.333, 0.666"),
        "xml": ("1e-1 .9", "0.333 0.666"),
        "json": ("[0.1, 0.9]]", "[0.333, 0.666]]"),
    }
    path = written(TEXTS[suffix].replace(*rounded[suffix]), suffix)
    with pytest.warns(UserWarning, match=r"1 column was .* 0.001 away from 1; .* 'wet grass'"):
        table = read_network(path).node("wet grass").table
    assert table[:, 1].tolist() == pytest.approx([1 / 3, 2 / 3], abs=1e-15)
    assert table[:, 0].tolist() == [0.9, 0.1], "what was right stays as it was"


NASTY = 'Each variable; its "probability" {see} C:\\\\net // or /* 100% %3B of the network */'


@pytest.mark.parametrize("suffix", ["bif", "xml"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_pgmpy_takes_the_files_with_any_title(tmp_path, suffix):
    from pgmpy.readwrite import BIFReader, XMLBIFReader

    asia = load_network("asia")
    network = Network("asia", NASTY, NASTY, True, asia.nodes, NASTY, "published")
    path = tmp_path / f"asia.{suffix}"
    write_network(network, path)
    model = (BIFReader if suffix == "bif" else XMLBIFReader)(str(path)).get_model()
    theirs = {node.name: node for node in from_pgmpy(model).nodes}
    assert theirs == {node.name: node for node in asia.nodes}
    back = read_network(path)
    assert (back.title, back.source, back.description) == (NASTY, NASTY, NASTY)


def test_no_other_file_is_read_through_xml(written, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    for declaration in (
        f'[<!ENTITY s SYSTEM "{secret.as_uri()}">]',
        f'SYSTEM "{secret.as_uri()}"',
        f'[<!ENTITY % s SYSTEM "{secret.as_uri()}"> %s;]',
    ):
        text = RAIN_XML.replace(RAIN_XML.splitlines()[1], f"<!DOCTYPE BIF {declaration}>").replace(
            "My garden", "&s;"
        )
        with pytest.raises(InputError, match="must hold XML"):
            read_network(written(text, "xml"))


def test_an_encoding_that_xml_declares_is_honoured(written):
    text = RAIN_XML.replace('version="1.0"', 'version="1.0" encoding="ISO-8859-1"').replace(
        "My garden", "Gärten"
    )
    assert read_network(written(text.encode("latin-1"), "xml")).name == "Gärten"
