import re

import numpy as np
import pytest

from bayesnets import (
    Network,
    Node,
    load_network,
    load_phrases,
    network_names,
    read_network,
    write_network,
)
from coherence.cli.main import main


@pytest.fixture
def lawn(tmp_path):
    """Return the path of a BIF file with a space in one name and a terminal command in another."""
    nodes = (
        Node("rain", ("heavy rain", "no"), (), np.array([0.2, 0.8])),
        Node("wet \x9b31mgrass", ("yes", "no"), ("rain",), np.array([[0.9, 0.1], [0.1, 0.9]])),
    )
    path = tmp_path / "lawn.json"
    write_network(Network("lawn", "lawn", "", True, nodes), path)
    return path


def cells(line):
    return re.split(r"\s{2,}", line.strip())


def test_list_has_a_line_for_every_network(capsys):
    assert main(["networks", "list"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert cells(lines[0]) == ["name", "nodes", "edges", "tables", "default target"]
    found = [cells(line) for line in lines[2:-2] if not line.startswith(" ")]
    assert [row[0] for row in found] == list(network_names())
    asia = next(row for row in found if row[0] == "asia")
    assert asia[1:3] == ["8", "8"]
    assert asia[3] in ("published", "illustrative")
    assert asia[4] == "lung"
    assert all(len(line) <= 80 for line in lines)


def test_show_prints_parents_and_prior_probabilities(capsys):
    assert main(["networks", "show", "asia"]) == 0
    out = capsys.readouterr().out
    assert "8 variables, 8 arrows, 18 free parameters; default target: lung" in out
    # P(lung) = .5 x .1 + .5 x .01; P(either) from P(tub) = .0104.
    assert ["lung", "smoke", "yes 0.055, no 0.945"] in map(cells, out.splitlines())
    assert ["either", "tub, lung", "yes 0.06483, no 0.9352"] in map(cells, out.splitlines())
    assert "Lauritzen and Spiegelhalter (1988)" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_show_a_table(capsys):
    assert main(["networks", "show", "asia", "--variable", "dysp"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "dysp in asia",
        "parents: bronc, either",
        "children: none",
        "prior: yes 0.436, no 0.564",
    ]
    assert [cells(line) for line in lines[5:]] == [
        ["bronc", "either", "dysp=yes", "dysp=no"],
        ["-----", "------", "--------", "-------"],
        ["yes", "yes", "0.9", "0.1"],
        ["yes", "no", "0.8", "0.2"],
        ["no", "yes", "0.7", "0.3"],
        ["no", "no", "0.1", "0.9"],
    ]


def test_a_table_wider_than_the_screen_is_turned_not_cut(tmp_path, capsys):
    parents = [
        Node(
            f"a cause with a long name {number}",
            ("first state", "second state"),
            (),
            np.array([0.5, 0.5]),
        )
        for number in range(4)
    ]
    child = Node(
        "effect",
        tuple(f"outcome {number}" for number in range(9)),
        tuple(node.name for node in parents),
        np.full((9, 2, 2, 2, 2), 1 / 9),
    )
    write_network(Network("wide", "wide", "", False, (*parents, child)), tmp_path / "wide.bif")
    assert main(["networks", "show", str(tmp_path / "wide.bif"), "--variable", "effect"]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert out.count("0.1111") == 9 * (16 + 1)
    rule = next(line for line in out.splitlines() if line.startswith("---"))
    first_column = " ".join(" ".join(line[: rule.index(" ")] for line in out.splitlines()).split())
    last = ", ".join(f"a cause with a long name {number}=second state" for number in range(4))
    assert last in first_column


def test_show_a_file_whose_names_hold_commands(lawn, capsys):
    assert main(["networks", "show", str(lawn)]) == 0
    out = capsys.readouterr().out
    assert "\x9b" not in out
    assert "tables: illustrative" in out
    assert ["rain", "–", "heavy rain 0.2, no 0.8"] in map(cells, out.splitlines())
    assert "2 variables, 1 arrow, 3 free parameters\n" in out


def test_draw_writes_the_picture_and_says_so_on_stderr(tmp_path, capsys):
    path = tmp_path / "asia.svg"
    assert main(["networks", "draw", "asia", "--out", str(path)]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"wrote {path}: 8 variables, 8 arrows\n")
    default = path.read_bytes()
    assert main(["networks", "draw", "asia", "--out", str(path), "--highlight", "lung"]) == 0
    assert path.read_bytes() == default, "the target is set off unless something else is asked for"
    assert main(f"networks draw asia --out {path} --highlight tub --highlight xray".split()) == 0
    assert path.read_bytes() != default


def test_convert_says_which_columns_rounding_moved(tmp_path, capsys):
    bif, rounded, out = tmp_path / "asia.bif", tmp_path / "rounded.bif", tmp_path / "asia.xml"
    assert main(["networks", "convert", "asia", "--out", str(bif)]) == 0
    assert read_network(bif) == load_network("asia")
    rounded.write_text(bif.read_text().replace("table 0.01, 0.99", "table 0.01, 0.989"))
    capsys.readouterr()
    assert main(["networks", "convert", str(rounded), "--out", str(out)]) == 0
    assert (
        "1 column was divided by the sum, which was up to 0.001 away from 1; tables of 'asia'\n"
        in capsys.readouterr().err
    )
    assert read_network(out).node("asia").table.sum() == pytest.approx(1, abs=1e-15)
    rounded.write_text(bif.read_text().replace("table 0.01, 0.99", "table 0.01, 0.97"))
    out.unlink()
    assert main(["networks", "convert", str(rounded), "--out", str(out)]) == 2
    assert "'asia'" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "asai"], "Did you mean 'asia'?"),
        (
            ["show", "nowhere.bif"],
            "network file must be a readable file; nowhere.bif is not: No such file or directory",
        ),
        (["show", "asia", "--variable", "lang"], "Did you mean 'lung'?"),
        (["draw", "asia", "--out", "asia.jpg"], "path must end in .png, .svg, .pdf"),
        (["draw", "asia", "--out", "a.png", "--highlight", "lang"], "Did you mean 'lung'?"),
        (["convert", "asia", "--out", "asia.net"], "must end in .bif, .xml, .xmlbif, .json"),
        (
            ["convert", "asia", "--out", "nowhere/asia.bif"],
            "must lie in a folder that can be written to",
        ),
    ],
)
def test_wrong_use_ends_with_2_one_line_and_no_file(
    arguments, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["networks", *arguments]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.count("\n") == 1
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_usage(capsys):
    assert main(["networks"]) == 2
    assert "ACTION" in capsys.readouterr().err
    assert main(["networks", "draw", "asia"]) == 2
    assert "--out" in capsys.readouterr().err
    assert main(["networks", "show", "asia", "--var", "lung"]) == 2
    assert "there is no option --var. Did you mean --" in capsys.readouterr().err


def test_words_begin_as_a_phrase_file_for_the_target_that_is_asked_about(tmp_path, capsys):
    out = tmp_path / "words.toml"
    assert main(["networks", "phrases", "asia", "--out", str(out)]) == 0
    assert load_phrases(out, load_network("asia")).default_target == "lung"  # the catalogue's own
    assert "wrote" in capsys.readouterr().err
    for target, positive in (("smoke", "yes"), ("dysp", "yes")):
        out.unlink()
        assert main(["networks", "phrases", "asia", "--out", str(out), "--target", target]) == 0
        words = load_phrases(out, load_network("asia"))
        assert (words.default_target, words.positive(target)) == (target, positive)
    assert main(["networks", "phrases", "asia", "--out", str(tmp_path / "a.txt")]) == 2
    assert "--out must end in .toml" in capsys.readouterr().err
