import gzip
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayesnets import (
    Network,
    Node,
    from_pgmpy,
    load_network,
    posterior,
    read_network,
    to_pgmpy,
    write_network,
)
from coherence import InputError

SUFFIXES = ("bif", "xml", "xmlbif", "bifxml", "json", "bif.gz", "bifxml.gz", "json.gz")


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
    head = (
        "network { }\nvariable a { type discrete [ 2 ] { x, y }; }\n"
        "variable b { type discrete [ 3 ] { u, v, w }; }\n"
    )
    bif = (
        head
        + "probability ( a ) { table .5 .5; }\nprobability ( b a ) { table .1 .2  .3 .3  .6 .5; }"
    )
    xml = (
        "<BIF><NETWORK>"
        "<VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>"
        "<VARIABLE><NAME>b</NAME><OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME><OUTCOME>w</OUTCOME>"
        "</VARIABLE><DEFINITION><FOR>a</FOR><TABLE>.5 .5</TABLE></DEFINITION>"
        "<PROBABILITY><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>.1 .3 .6  .2 .3 .5</TABLE></PROBABILITY>"
        "</NETWORK></BIF>"
    )
    for text, suffix in ((bif, "bif"), (xml, "xml")):
        assert read_network(written(text, suffix)).node("b").table.tolist() == [
            [0.1, 0.2],
            [0.3, 0.3],
            [0.6, 0.5],
        ]


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
    texts = [text for node in network.nodes for text in (node.name, *node.states)]
    if suffix.startswith("bif") and any('"' in text for text in texts):
        with pytest.raises(InputError, match="must be free of"):
            write_network(network, path)
        return
    if suffix in ("xml", "xmlbif"):
        texts += [network.name, network.title, network.source, network.description]
        if any(text != text.strip() for text in texts):
            with pytest.raises(InputError, match="must be free of"):
                write_network(network, path)
            return
    write_network(network, path)
    back = read_network(path)
    assert back == network
    assert (back.description, back.tables) == (network.description, network.tables), (
        "which the comparison leaves out"
    )


FAULTS = {
    "bif: no entry": ("(no) 1e-1, .9;", "(no) 1e-1, .9; rest", "wet grass"),
    "bif: table count": ("table 0.25, 0.75", "table 0.25", "'rain'"),
    "bif: negative": ("0.25, 0.75", "-0.25, 1.25", "'rain'"),
    "xml: no network": ("NETWORK>", "NETZ>", "NETWORK"),
    "xml: count": (" 1e-1 .9", " 1e-1", "wet grass"),
    "bif: no brace": ("variable rain {", "variable rain", "line 6"),
    "bif: no quote": ('variable "wet grass"', "variable wet grass", "line 7"),
    "bif: open quote": ('variable "wet grass"', 'variable "wet grass', "line 7"),
    "bif: open comment": ("a space */", "a space", "line 4"),
    "bif: count": ("discrete[2]", "discrete[3]", "line 7"),
    "bif: continuous": ("discrete [", "continuous [", "line 6"),
    "bif: twice": ('variable "wet grass"', "variable rain", "rain"),
    "bif: no table": ("probability ( rain ) { table 0.25, 0.75; }", "", "rain"),
    "bif: unknown parent": ("| rain )", "| rian )", "Did you mean 'rain'"),
    "bif: own parent": ("| rain )", '| rain, "wet grass" )', "wet grass"),
    "bif: unknown state": ("(no)", "(none)", "wet grass"),
    "bif: row twice": ("(no)", '("heavy rain")', "wet grass"),
    "bif: row missing": ("(no) 1e-1, .9;", "", "wet grass"),
    "bif: words": ("1e-1, .9", "one, two", "wet grass"),
    "bif: nan": ("1e-1, .9", "nan, .9", "wet grass"),
    "bif: other digits": ("1e-1, .9", "٠.1, .9", "wet grass"),
    "bif: percent": ("0.25, 0.75", "25, 75", "'rain'"),
    "bif: sum": ("1e-1, .9", "0.1, 0.88", "wet grass"),
    "bif: cut": ("(no) 1e-1, .9;\n}\n", "(no) 1e-1", "line 9"),
    "bif: table and rows": ("(no) 1e-1, .9;", "table .1 .2 .9 .8;", "wet grass"),
    "bif: other words": ("network", "netwerk", "line 1"),
    "xml: cut": ("</NETWORK></BIF>\n", "", "must hold XML"),
    "xml: tags": ("</VARIABLE>\n<DEF", "</VARIABEL>\n<DEF", "line 5"),
    "xml: decision": ('TYPE="nature"><NAME>wet', 'TYPE="decision"><NAME>wet', "wet grass"),
    "xml: twice": ("<NAME>wet grass</NAME>", "<NAME>rain</NAME>", "rain"),
    "xml: same state": ("<OUTCOME>yes<", "<OUTCOME>no<", "wet grass"),
    "xml: no table": ("<TABLE>0.25 0.75</TABLE>", "", "rain"),
    "xml: given": ("<GIVEN>rain<", "<GIVEN>rian<", "Did you mean 'rain'"),
    "xml: defined twice": (
        "<FOR>wet grass</FOR><GIVEN>rain</GIVEN>\n<TABLE>0.9 0.1",
        "<FOR>rain</FOR>\n<TABLE>",
        "'rain'",
    ),
    "xml: sum": (" 1e-1 .9", " 0.1 0.8", "wet grass"),
    "xml: unknown entity": ("<OUTCOME>yes<", "<OUTCOME>&yes;<", "must hold XML"),
    "xml: encoding": ('version="1.0"', 'version="1.0" encoding="klingon"', "must hold XML"),
    "json: cut": ("]}]}", "", "must hold JSON"),
    "json: sum": ("[0.1, 0.9]]", "[0.1, 0.8]]", "wet grass"),
    "json: nan": ("0.25", "NaN", "'rain'"),
    "json: huge": (
        "0.25",
        "1" + "0" * 400,
        "'rain'",
    ),
    "json: states": ('["yes", "no"]', "3", "must be a sequence"),
    "json: twice": ('"wet grass"', '"rain"', "'rain'"),
    "json: deep": ('"My garden"', "[" * 5000 + "]" * 5000, "must hold JSON"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_file_is_one_line_with_the_file_and_the_place(written, fault):
    old, new, place = FAULTS[fault]
    suffix = fault.partition(":")[0]
    assert old in TEXTS[suffix]
    path = written(TEXTS[suffix].replace(old, new), suffix)
    with pytest.raises(InputError) as caught:
        read_network(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert place in message
    assert "\n" not in message


def test_files_that_cannot_be_read(tmp_path, written):
    with pytest.raises(InputError, match="No such file"):
        read_network(tmp_path / "nowhere.bif")
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        read_network(tmp_path / "folder.bif")
    with pytest.raises(
        InputError, match="must end in .bif, .xml, .* or .json, each also with .gz .*; .* does not"
    ):
        read_network(tmp_path / "network.net")
    with pytest.raises(InputError, match="is empty"):
        read_network(written(" \n"))
    with pytest.raises(InputError, match="it has none. Is it empty or cut off"):
        read_network(written("network x { }"))
    with pytest.raises(InputError, match="line 6: the file must be UTF-8 text; byte"):
        read_network(written(RAIN.replace("heavy", "schön").encode("latin-1")))


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
    "blanks before the declaration": ("xml", lambda text: f"\ufeff \n\t{text}"),
    "ending of other programs": ("bifxml", lambda text: text),
    "packed XML": ("xmlbif.gz", lambda text: gzip.compress(text.encode())),
    "packed": ("bif.gz", lambda text: gzip.compress(text.encode())),
    "packed, with another name": ("bif", lambda text: gzip.compress(text.encode())),
    "unpacked on the way": ("bif.gz", lambda text: text),
    "nested": ("bif", nested),
    "nested and packed": ("bif.gz", lambda text: gzip.compress(nested(text).encode())),
}


@pytest.fixture(scope="module")
def posteriors_of_pgmpy():
    """The network survey as pgmpy takes it from our file, and P(T | evidence) by its engine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.inference import VariableElimination
    engine = VariableElimination(to_pgmpy(load_network("survey")))
    rows = [{"A": "young", "O": "self"}, {"S": "F", "R": "big", "E": "uni"}, {}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        factors = [engine.query(["T"], row, show_progress=False) for row in rows]
    return rows, [
        dict(zip(factor.state_names["T"], factor.values, strict=True)) for factor in factors
    ]


@pytest.mark.parametrize("form", FOUND)
def test_the_forms_in_which_files_are_found(written, tmp_path, posteriors_of_pgmpy, form):
    suffix, changed = FOUND[form]
    survey = load_network("survey")
    plain = tmp_path / ("plain.bif" if suffix.startswith("bif") and "x" not in suffix else "p.xml")
    write_network(survey, plain)
    network = read_network(written(changed(plain.read_text(encoding="utf-8")), suffix))
    assert network == survey
    rows, expected = posteriors_of_pgmpy
    table = posterior(network, pd.DataFrame(rows), "T")
    for row, theirs in zip(table.to_dict("records"), expected, strict=True):
        assert row == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("suffix", "text", "message"),
    [
        ("bif", nested("network x {\n}\n" + RAIN.partition("}\n")[2])[:-2], "Is the file cut off"),
        ("bif", RAIN + "}\n", "line 13: a block must begin and end here"),
        ("bif", "network a { network b { } }", "line 1: a block must begin and end here"),
        ("bif.gz", gzip.compress(RAIN.encode())[:-20], "damaged or cut short"),
        ("xml", "<DATA><NETWORK/></DATA>", "found 1 inside DATA"),
        ("xml", "<BIF><NETWORK/><NETWORK/></BIF>", "found 2 inside BIF"),
    ],
)
def test_what_such_files_lack_is_named(written, suffix, text, message):
    path = written(text, suffix)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_network(path)
    assert str(path) in str(caught.value)


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
        with pytest.raises(InputError, match="must be free of"):
            write_network(bell, tmp_path / f"bell.{suffix}")
    write_network(bell, tmp_path / "bell.json")
    assert read_network(tmp_path / "bell.json") == bell
    with pytest.raises(InputError, match="surrogate"):
        write_network(Network("n", "t", "\ud800", False, bell.nodes), tmp_path / "bell.json")


@pytest.mark.parametrize("table", ['["0.01", "0.99"]', "[true, false]"])
def test_a_json_table_of_texts_or_truth_values_is_refused(tmp_path, table):
    path = tmp_path / "x.json"
    node = f'{{"name": "a", "states": ["x", "y"], "parents": [], "table": {table}}}'
    path.write_text(f'{{"name": "x", "nodes": [{node}]}}')
    with pytest.raises(InputError, match=r"x\.json: table of node 'a' must hold numbers; the"):
        read_network(path)


@pytest.mark.parametrize("suffix", ["bif", "xml", "json"])
def test_a_cycle_is_refused(written, suffix):
    cycle = {
        "bif": RAIN.replace("( rain ) { table", '( rain | "wet grass" ) { default'),
        "xml": RAIN_XML.replace(
            "<FOR>rain</FOR><TABLE>", "<FOR>rain</FOR><GIVEN>wet grass</GIVEN><TABLE>.5 .5 "
        ),
        "json": RAIN_JSON.replace(
            '"table": [0.25, 0.75]', '"parents": ["wet grass"], "table": [[0.25, 0.75], [1, 0]]'
        ),
    }
    path = written(cycle[suffix], suffix)
    with pytest.raises(InputError, match="must not form a cycle; one runs through") as caught:
        read_network(path)
    assert str(path) in str(caught.value)


def test_a_table_that_no_machine_can_hold_is_refused_before_it_is_made(written):
    parents = [f"v{number}" for number in range(60)]
    text = "network { }\n" + "".join(
        f"variable {name} {{ type discrete [ 2 ] {{ x, y }}; }}\n" for name in [*parents, "child"]
    )
    text += f"probability ( child | {', '.join(parents)} ) {{ default 0.5, 0.5; }}\n"
    text += "".join(f"probability ( {name} ) {{ table 0.5, 0.5; }}\n" for name in parents)
    with pytest.raises(
        InputError,
        match=re.escape(
            "line 63: the table of 'child' must have at most 67108864 entries; 60 parents make"
        ),
    ):
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


def test_a_few_lines_of_entities_do_not_grow(written):
    laughs = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10))
    declared = f'<?xml version="1.0"?><!DOCTYPE BIF [<!ENTITY l0 "ha">{laughs}]>'
    bomb = f"{declared}<BIF><NETWORK><NAME>&l9;</NAME></NETWORK></BIF>"
    with pytest.raises(InputError, match="must hold XML"):
        read_network(written(bomb, "xml"))


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
