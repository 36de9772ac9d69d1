import re

import pytest

from bayesnets.formats.network_files import read_network
from coherence.errors import InputError

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
    declared = f'<?xml version="1.0"?><!DOCTYPE BIF [<!ENTITY l0 "ha">{laughs}]>'
    bomb = f"{declared}<BIF><NETWORK><NAME>&l9;</NAME></NETWORK></BIF>"
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
