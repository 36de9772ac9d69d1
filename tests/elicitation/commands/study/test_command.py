"""``coherence study``. Breaks if a fault has no line, or Ctrl-C does not say what is kept."""

from coherence.cli.main import main


def test_actions_and_their_faults(write, tmp_path, capsys):
    path = str(write())
    for words, told in (
        (["study"], "the following arguments are required: ACTION"),
        (["study", "run", str(tmp_path / "no.toml")], "cannot be read"),
        (["study", "report", path], "nothing of study"),
        (["study", "run", str(write(name="bare"))], "--out DIR is missing"),
    ):
        assert main(words) == 2
        assert told in capsys.readouterr().err


def test_ctrl_c_says_what_is_kept(write, monkeypatch, tmp_path, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("elicitation.commands.study.units.Unit.ask", interrupted)
    assert main(["study", "run", str(write())]) == 130
    assert f"0 answers are kept in {tmp_path}" in capsys.readouterr().err
