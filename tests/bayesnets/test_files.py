import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayesnets import Network, Node, from_pgmpy, load_network, to_pgmpy
from bayesnets.formats import network_files as module
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
<VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>heavy rain</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>wet grass</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<DEFINITION><FOR>rain</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
<DEFINITION><FOR>wet grass</FOR><GIVEN>rain</GIVEN>
<TABLE>0.9 0.1 <!-- heavy rain -->
 1e-1 .9</TABLE></DEFINITION>
</NETWORK></BIF>
"""

RAIN_JSON = """{"name": "My garden", "nodes": [
{"name": "rain", "states": ["heavy rain", "no"], "table": [0.25, 0.75]},
{"name": "wet grass", "states": ["yes", "no"], "parents": ["rain"], "table": [[0.9, 0.1], [0.1, 0.9]]}]}
"""
TEXTS = {"bif": RAIN, "xml": RAIN_XML, "json": RAIN_JSON}


@pytest.fixture
def written(tmp_path):
    """Return a function that puts text or bytes into a file of the given ending."""

    def write(text, suffix="bif"):
        path = tmp_path / f"mine.{suffix}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


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
    head = "network { }\nvariable a { type discrete [ 2 ] { x, y }; }\nvariable b { type discrete [ 3 ] { u, v, w }; }\n"
    bif = (
        head
        + "probability ( a ) { table .5 .5; }\nprobability ( b a ) { table .1 .2  .3 .3  .6 .5; }"
    )
    xml = "<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE><VARIABLE><NAME>b</NAME>"
    xml += "<OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME><OUTCOME>w</OUTCOME></VARIABLE><DEFINITION><FOR>a</FOR><TABLE>.5 .5</TABLE></DEFINITION>"
    xml += "<PROBABILITY><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>.1 .3 .6  .2 .3 .5</TABLE></PROBABILITY></NETWORK></BIF>"
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


BIF_FAULTS = {
    "no brace": (
        "variable rain {",
        "variable rain",
        "line 6: expected '{' in variable 'rain', found 'type'",
    ),
    "no quote": (
        'variable "wet grass"',
        "variable wet grass",
        "line 7: expected '{' in variable 'wet', found 'grass'. Put names with spaces",
    ),
    "open quote": (
        'variable "wet grass"',
        'variable "wet grass',
        "line 7: this quote is never closed",
    ),
    "open comment": ("a space */", "a space", "line 4: this comment is never closed"),
    "open property": ('"someone; else"', '"someone; else', "line 2: this property is never closed"),
    "count": (
        "discrete[2]",
        "discrete[3]",
        "line 7: variable 'wet grass' must list as many states as it announces; "
        "it announces 3 and lists 2",
    ),
    "continuous": ("discrete [", "continuous [", "line 6: expected 'discrete'"),
    "same state": ("{ yes no }", "{ yes yes }", "line 7: states of 'wet grass' must differ"),
    "twice": (
        'variable "wet grass"',
        "variable rain",
        "line 7: variable 'rain' was declared in line 6 already",
    ),
    "table twice": (
        '( "wet grass" | rain )',
        "( rain )",
        "line 9: the table of 'rain' was given in line 8 already",
    ),
    "no table": (
        "probability ( rain ) { table 0.25, 0.75; }",
        "",
        "line 6: variable 'rain' must have a table",
    ),
    "unknown parent": (
        "| rain )",
        "| rian )",
        "line 9: parent 'rian' is not declared. Did you mean 'rain'?",
    ),
    "own parent": (
        "| rain )",
        '| rain, "wet grass" )',
        "must differ; they are wet grass, rain, wet grass",
    ),
    "unknown variable": (
        "probability ( rain )",
        "probability ( hail )",
        "line 8: variable 'hail' is not declared",
    ),
    "unknown state": (
        "(no)",
        "(none)",
        "line 11: 'none' must be a state of 'rain', in a row of 'wet grass'. Did you mean 'no'?",
    ),
    "two labels": (
        '("heavy rain")',
        "(heavy rain)",
        "names 2. States with spaces or commas must be in double quotes",
    ),
    "row twice": (
        "(no)",
        '("heavy rain")',
        "line 11: the row (heavy rain) of 'wet grass' was given in line 10 already",
    ),
    "row missing": (
        "(no) 1e-1, .9;",
        "",
        "line 9: the table of 'wet grass' has no entry for rain=no. Add it, or a 'default'.",
    ),
    "three numbers": (
        "1e-1, .9",
        ".1 .2 .7",
        "line 11: this entry of 'wet grass' must hold 2 probabilities, one per state; it holds 3",
    ),
    "table count": (
        "table 0.25, 0.75",
        "table 0.25",
        "line 8: this entry of 'rain' must hold 2 probabilities, one per cell; it holds 1",
    ),
    "words": ("1e-1, .9", "one, two", "line 11: expected a probability or ';'"),
    "nan": ("1e-1, .9", "nan, .9", "found 'nan'. Write numbers"),
    "other digits": ("1e-1, .9", "٠.1, .9", "expected a probability"),
    "negative": (
        "0.25, 0.75",
        "-0.25, 1.25",
        "line 8: probabilities of 'rain' must lie in [0, 1]; found -0.25",
    ),
    "huge": (
        "0.25, 0.75",
        "1e999, 0",
        "line 8: probabilities of 'rain' must lie in [0, 1]; found inf",
    ),
    "percent": ("0.25, 0.75", "25, 75", "must lie in [0, 1]; found 25."),
    "sum": (
        "1e-1, .9",
        "0.1, 0.89",
        "line 11: probabilities of 'wet grass' given rain=no must sum to 1 within 1e-08; "
        "they sum to 0.99 (1 of 2 columns",
    ),
    "cut": (
        "(no) 1e-1, .9;\n}\n",
        "(no) 1e-1",
        "line 11: the file ends inside the table of 'wet grass', where a probability or ';' must "
        "follow. Is it truncated?",
    ),
    "two defaults": (
        "(no) 1e-1, .9;",
        "default 0 1; default 0 1;",
        "must have one default; line 11 gave one",
    ),
    "table and rows": (
        "(no) 1e-1, .9;",
        "table .1 .2 .9 .8;",
        "'table' must be the only entry for 'wet grass'",
    ),
    "other words": (
        "network",
        "netwerk",
        "line 1: expected 'network', 'variable' or 'probability' in the file, found 'netwerk'",
    ),
    "no type": (
        "type discrete[2] { yes no };",
        "",
        "line 7: expected 'type discrete [ n ] { states };' in variable 'wet grass'",
    ),
    "in network": ("property author", "author", "only properties may stand here"),
    "in table": (
        "(no) 1e-1",
        "no 1e-1",
        "line 11: expected '(', 'table', 'default', 'property' or '}'",
    ),
}


@pytest.mark.parametrize("fault", BIF_FAULTS)
def test_faults_of_a_bif_file_name_file_and_line(written, fault):
    old, new, message = BIF_FAULTS[fault]
    assert old in RAIN
    path = written(RAIN.replace(old, new))
    with pytest.raises(InputError, match=re.escape(message).replace("only", "[Oo]nly")) as caught:
        read_network(path)
    assert str(caught.value).startswith(str(path))


XML_FAULTS = {
    "cut": (
        "</NETWORK></BIF>\n",
        "",
        "line 10: the file must hold XML; no element found. Is it truncated?",
    ),
    "cut in a tag": ("</NETWORK></BIF>\n", "</NETW", "unclosed token. Is it truncated?"),
    "tags": (
        "</VARIABLE>\n<DEF",
        "</VARIABEL>\n<DEF",
        "line 5: the file must hold XML; mismatched tag",
    ),
    "no network": (
        "NETWORK>",
        "NETZ>",
        "line 3: the file must hold one NETWORK inside BIF; found 0 inside BIF",
    ),
    "decision": (
        'TYPE="nature"><NAME>wet',
        'TYPE="decision"><NAME>wet',
        "line 5: variable 'wet grass' must be of type nature, not 'decision'",
    ),
    "twice": (
        "<NAME>wet grass</NAME>",
        "<NAME>rain</NAME>",
        "line 5: variable 'rain' was declared in line 4 already",
    ),
    "no name": ("<NAME>rain</NAME>", "", "line 4: a VARIABLE must have one NAME, not 0"),
    "same state": (
        "<OUTCOME>yes<",
        "<OUTCOME>no<",
        "line 5: variable 'wet grass' must have non-empty OUTCOMEs that differ; they are no, no",
    ),
    "no states": (
        "<OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME>",
        "",
        "OUTCOMEs that differ; they are none",
    ),
    "no table": (
        "<TABLE>0.25 0.75</TABLE>",
        "",
        "line 6: a DEFINITION must have one FOR and one TABLE; it has 1 and 0",
    ),
    "undefined": (
        "<DEFINITION><FOR>rain</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>",
        "",
        "variable 'rain' must have a DEFINITION",
    ),
    "given": (
        "<GIVEN>rain<",
        "<GIVEN>rian<",
        "line 7: GIVEN 'rian' must be a VARIABLE of the file. Did you mean 'rain'?",
    ),
    "own parent": ("<GIVEN>rain<", "<GIVEN>wet grass<", "line 7: FOR and GIVEN must differ"),
    "defined twice": (
        "<FOR>wet grass</FOR><GIVEN>rain</GIVEN>\n<TABLE>0.9 0.1",
        "<FOR>rain</FOR>\n<TABLE>",
        "the table of 'rain' was given in line 6 already",
    ),
    "count": (
        " 1e-1 .9",
        " 1e-1",
        "line 8: the TABLE of 'wet grass' must hold 4 numbers; it holds 3",
    ),
    "words": ("0.25 0.75", "a quarter", "line 6: the TABLE of 'rain' must hold numbers; found 'a'"),
    "nan": ("0.25 0.75", "nan 1", "line 6: probabilities of 'rain' must lie in [0, 1]; found nan"),
    "negative": ("0.25 0.75", "-0.25 1.25", "must lie in [0, 1]; found -0.25"),
    "sum": (
        " 1e-1 .9",
        " 0.1 0.8",
        "line 8: probabilities of 'wet grass' given rain=no must sum to 1 within 1e-08; "
        "they sum to 0.9 (1 of 2 columns",
    ),
    "entity": (
        "<!ELEMENT NAME (#PCDATA)>",
        '<!ENTITY a "b">',
        "line 2: XML entities are not allowed",
    ),
    "unknown entity": (
        "<OUTCOME>yes<",
        "<OUTCOME>&yes;<",
        "line 5: the file must hold XML; undefined entity",
    ),
    "encoding": (
        'version="1.0"',
        'version="1.0" encoding="klingon"',
        "the file must hold XML; unknown encoding|encoding that the file declares must be known",
    ),
}


@pytest.mark.parametrize("fault", XML_FAULTS)
def test_faults_of_an_xml_file_name_file_and_line(written, fault):
    old, new, message = XML_FAULTS[fault]
    assert old in RAIN_XML
    path = written(RAIN_XML.replace(old, new), "xml")
    with pytest.raises(InputError, match="|".join(map(re.escape, message.split("|")))) as caught:
        read_network(path)
    assert str(caught.value).startswith(str(path))


def test_a_few_lines_of_entities_do_not_grow(written):
    laughs = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10))
    bomb = f'<?xml version="1.0"?><!DOCTYPE BIF [<!ENTITY l0 "ha">{laughs}]><BIF><NETWORK><NAME>&l9;</NAME></NETWORK></BIF>'
    with pytest.raises(InputError, match="entities are not allowed"):
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
        with pytest.raises(InputError, match="entities are not allowed"):
            read_network(written(text, "xml"))


def test_an_encoding_that_xml_declares_is_honoured(written):
    text = RAIN_XML.replace('version="1.0"', 'version="1.0" encoding="ISO-8859-1"').replace(
        "My garden", "Gärten"
    )
    assert read_network(written(text.encode("latin-1"), "xml")).name == "Gärten"


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


@pytest.mark.parametrize("suffix", TEXTS)
def test_normalize_divides_rounded_columns_and_says_which(written, suffix):
    rounded = {
        "bif": ("1e-1, .9", "0.333, 0.666"),
        "xml": ("1e-1 .9", "0.333 0.666"),
        "json": ("[0.1, 0.9]]", "[0.333, 0.666]]"),
    }
    path = written(TEXTS[suffix].replace(*rounded[suffix]), suffix)
    with pytest.raises(InputError, match=re.escape("read_network(path, normalize=True)")):
        read_network(path)
    with pytest.warns(
        UserWarning,
        match="1 column was divided by the sum, which was up to 0.001 away from 1; tables of 'wet grass'",
    ):
        network = read_network(path, normalize=True)
    assert network.node("wet grass").table[:, 1].tolist() == pytest.approx(
        [1 / 3, 2 / 3], abs=1e-15
    )
    assert network.node("wet grass").table[:, 0].tolist() == [0.9, 0.1], (
        "what was right stays as it was"
    )
    assert network.name == "My garden"


@pytest.mark.parametrize("suffix", TEXTS)
def test_normalize_does_not_hide_mistakes_and_is_silent_where_nothing_changes(written, suffix):
    wrong = {
        "bif": ("1e-1, .9", "0.3, 0.6"),
        "xml": ("1e-1 .9", "0.3 0.6"),
        "json": ("[0.1, 0.9]]", "[0.3, 0.6]]"),
    }
    with pytest.raises(
        InputError, match=re.escape("one of 'wet grass' sums to 0.9, which is no rounding")
    ):
        read_network(written(TEXTS[suffix].replace(*wrong[suffix]), suffix), normalize=True)
    right = written(TEXTS[suffix], suffix)
    assert read_network(right, normalize=True) == read_network(right)


def test_writing_replaces_the_file_in_one_step(tmp_path, monkeypatch):
    network, path = load_network("asia"), tmp_path / "asia.bif"
    path.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(
            module.os,
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


@pytest.fixture(scope="module")
def pgmpy_models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgmpy.readwrite
        import pgmpy.utils

        if not hasattr(pgmpy.utils, "get_example_model"):
            pytest.skip("pgmpy no longer ships example models")
        return {
            name: pgmpy.utils.get_example_model(name) for name in ("asia", "alarm")
        }, pgmpy.readwrite


def tables_of(model):
    """Return the tables of a pgmpy model as (parents, states, array)."""
    return {
        str(cpd.variable): (
            tuple(cpd.variables[1:]),
            tuple(cpd.state_names[cpd.variable]),
            cpd.values,
        )
        for cpd in model.get_cpds()
    }


@pytest.mark.parametrize("name", ["asia", "alarm"])
@pytest.mark.parametrize("suffix", ["bif", "xml"])
@pytest.mark.filterwarnings("ignore")
def test_a_file_that_pgmpy_wrote_is_read_as_its_model(pgmpy_models, tmp_path, name, suffix):
    models, readwrite = pgmpy_models
    path = tmp_path / f"theirs.{suffix}"
    if suffix == "bif":
        readwrite.BIFWriter(models[name]).write(str(path))
    else:
        readwrite.XMLBIFWriter(models[name]).write(str(path))
    network = read_network(
        path, normalize=True
    )  # seven columns of their alarm miss 1 by up to 1e-7
    expected = tables_of(models[name])
    assert set(network.names) == set(expected)
    for node in network.nodes:
        parents, states, table = expected[node.name]
        assert (node.parents, node.states) == (parents, states)
        np.testing.assert_allclose(node.table, table, atol=2e-7)


@pytest.mark.parametrize("suffix", ["bif", "xml"])
@pytest.mark.filterwarnings("ignore")
def test_pgmpy_reads_what_is_written_here(pgmpy_models, tmp_path, suffix):
    _, readwrite = pgmpy_models
    network, path = load_network("asia"), tmp_path / f"ours.{suffix}"
    write_network(network, path)
    reader = readwrite.BIFReader if suffix == "bif" else readwrite.XMLBIFReader
    theirs = from_pgmpy(reader(str(path)).get_model())
    assert {node.name: node for node in theirs.nodes} == {node.name: node for node in network.nodes}


@pytest.mark.filterwarnings("ignore")
def test_a_pgmpy_model_that_is_not_discrete_is_refused(tmp_path):
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    model = LinearGaussianBayesianNetwork([("height", "weight")])
    model.add_cpds(
        LinearGaussianCPD("height", [170], 10),
        LinearGaussianCPD("weight", [-30, 0.6], 8, ["height"]),
    )
    with pytest.raises(
        InputError, match="model must have discrete tables; height, weight have none"
    ):
        write_network(model, tmp_path / "people.bif")
