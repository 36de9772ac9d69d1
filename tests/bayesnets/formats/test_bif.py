import re

import pytest
from pgmpy.readwrite import BIFReader

from bayesnets import load_network
from bayesnets.catalog import network_names
from bayesnets.formats.bif import format_bif, parse_bif
from bayesnets.formats.network_files import read_network
from bayesnets.network import Network
from coherence.errors import InputError

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


NASTY = 'Each variable; its "probability" {see} C:\\\\net // or /* 100% %3B of the network */'


def test_other_readers_take_the_files_with_any_property(tmp_path):
    """Breaks on pgmpy's reader, which looks for "probability" and a brace in the whole file."""
    asia = load_network("asia")
    network = Network("asia", NASTY, NASTY, True, asia.nodes, NASTY, "published")
    text = format_bif(network)
    for line in text.splitlines():
        if line.strip().startswith("property"):
            assert line.count(";") == 1
            assert line.endswith('";')
            assert not set("{}\\") & set(line)
            assert "//" not in line
    model = BIFReader(string=text).get_model()
    for node in asia.nodes:
        assert model.get_cpds(node.name).values.tolist() == node.table.tolist()
    back = parse_bif(text, "asia.bif", default_name="x")
    assert (back.title, back.source, back.description) == (NASTY, NASTY, NASTY)


def test_percent_signs_of_files_without_the_mark_of_escapes_stay():
    text = format_bif(load_network("asia"))
    head = 'network asia {\n    property title = "30%3B";\n}\n'
    body = text[text.index("variable ") :]
    assert parse_bif(head + body, "asia.bif", default_name="x").title == "30%3B"


@pytest.mark.parametrize("name", network_names())
def test_every_network_of_the_catalogue_is_free_of_semicolons_in_properties(name):
    text = format_bif(load_network(name))
    lines = [line for line in text.splitlines() if line.strip().startswith("property")]
    assert lines
    assert all(line.count(";") == 1 for line in lines)
