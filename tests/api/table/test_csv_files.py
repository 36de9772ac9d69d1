"""Breaks if a file that was cut short, or a line that is no row, reads as a whole table."""

import pytest

from coherence import InputError, read_runs

WHOLE = (
    b"context,p,action,theta\r\ncase 1,0.25,rest,1\r\n"
    b'case 2,0.4,"an answer, long",0\r\ncase 3,0.45,"rest, or not",1\r\n'
)


def written(tmp_path, content, name="mine.csv"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("cut", range(1, 27))
def test_a_file_cut_within_its_last_row_is_refused_or_warned_of(tmp_path, cut, caplog):
    path = written(tmp_path, WHOLE[:-cut])
    said = ""
    try:
        read_runs(path)
    except InputError as error:
        said = str(error)
    assert "line 4 has" in said or "cut short" in said + caplog.text, cut


def test_blank_lines_are_skipped_and_counted(tmp_path, caplog):
    runs = read_runs(written(tmp_path, b"\xef\xbb\xbf" + WHOLE + b",,,\r\n\r\n  \r\n"))
    assert len(runs) == 3
    assert "3 blank lines were skipped." in caplog.text


@pytest.mark.parametrize("line", [b"case 4,0.3,rest\n", b"case 4,0.3,rest,1,2\n"])
def test_a_row_of_another_width_is_refused_with_its_line(tmp_path, line):
    content = WHOLE.replace(b"case 2", b'"case\n2"') + line
    with pytest.raises(InputError, match=r"line 6 has \d cells, the header 4"):
        read_runs(written(tmp_path, content))


def test_a_spreadsheets_file_is_read_at_the_first_attempt(tmp_path, caplog):
    content = "Patient ID,p,action,theta\r\n7,35%,TREAT,TRUE\r\n8,5%,WAIT,FALSE\r\n,,,\r\n"
    path = written(tmp_path, b"\xef\xbb\xbf" + content.encode())
    runs = read_runs(path, columns={"context": "Patient ID"})
    assert runs["p"].tolist() == [0.35, 0.05]
    assert runs["theta"].tolist() == [True, False]
    assert len(caplog.messages) == 2


def test_labels_with_leading_zeros_stay_apart(tmp_path):
    runs = read_runs(written(tmp_path, b"p,action,context\n.5,a,01\n.6,b,1\n.7,b,007\n"))
    assert runs["context"].tolist() == ["01", "1", "007"]


def test_ids_of_many_digits_stay_apart(tmp_path):
    ids = ["123456789012345678901", "123456789012345678902"]
    runs = read_runs(
        written(tmp_path, f"p,action,context\n.5,a,{ids[0]}\n.6,b,{ids[1]}\n".encode())
    )
    assert runs["context"].tolist() == ids


@pytest.mark.lengthy
def test_many_columns_and_names_that_are_longer_than_a_usual_block(tmp_path):
    names = ["p", "theta", *(f"x_{at}_{'long' * 20}" for at in range(15_000))]
    rows = [",".join(names), ",".join(["1"] * len(names)), ",".join(["0"] * len(names))]
    assert read_runs(written(tmp_path, ("\n".join(rows) + "\n").encode())).shape == (2, 15_002)
