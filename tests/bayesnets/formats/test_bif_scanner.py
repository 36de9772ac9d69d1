import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesnets.formats.bif_scanner import Scanner, quoted, unquoted
from coherence.errors import InputError


def scanner_of(text):
    return Scanner(text, lambda line: f"mine.bif, line {line}")


def test_tokens_have_kinds_and_the_lines_they_stand_on():
    scanner = scanner_of('a /* two\nlines */ "b c"; // to the end\n{')
    tokens = []
    while scanner.token.kind != "end":
        tokens.append((scanner.token.kind, scanner.token.text, scanner.token.line))
        scanner.advance()
    assert tokens == [("word", "a", 1), ("quoted", "b c", 2), ("mark", ";", 2), ("mark", "{", 3)]


def test_a_quoted_keyword_is_a_name():
    assert scanner_of("table").at("table")
    assert not scanner_of('"table"').at("table")
    assert scanner_of('"table"').name("a name") == "table"


def test_names_go_on_to_the_closing_mark_with_or_without_commas():
    scanner = scanner_of('a, b "c d" ) rest')
    assert list(scanner.names("a name", ")")) == ["a", "b", "c d"]
    assert scanner.token.text == "rest"


def test_what_was_expected_is_said_with_what_stands_there_instead():
    scanner = scanner_of("a\nb")
    scanner.inside = "the test"
    scanner.advance()
    with pytest.raises(InputError, match=r"mine.bif, line 2: expected '\{' in the test, found 'b'"):
        scanner.mark("{")
    scanner.advance()
    with pytest.raises(InputError, match="the file ends inside the test, where a name must follow"):
        scanner.name("a name")


@given(st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs"])))
def test_a_quoted_text_is_one_token_and_reads_back(text):
    assert unquoted(quoted(text)) == text
    scanner = scanner_of(quoted(text) + ";")
    assert scanner.name("a name") == text
    assert scanner.at(";")
