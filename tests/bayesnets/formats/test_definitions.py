import re

import pytest

from bayesnets.formats.network_files import read_network
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
        match="1 column was divided by the sum, which was up to 0.001 away from 1; "
        "tables of 'wet grass'",
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
