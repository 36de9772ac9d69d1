import json
from pathlib import Path

import pytest

from coherence import InputError

GOLDEN = Path(__file__).parents[2] / "golden"
YES = next(GOLDEN.glob("samples_rain_yes_*.jsonl"))


def test_states_without_a_positive_one_get_a_column_each(tmp_path, imported, study):
    path = tmp_path / "samples_weather_2026-01-05T12-00-00.000000.jsonl"
    lines = [json.loads(line) for line in YES.read_text().splitlines()]
    for line in lines:
        line["arguments"]["gen_args_0"]["arg_1"], line["arguments"]["gen_args_1"]["arg_1"] = (
            " dry",
            " rain",
        )
    path.write_text("\n".join(map(json.dumps, lines)))
    runs = imported(path).runs
    assert (runs["p_dry"] + runs["p_rain"]).tolist() == pytest.approx([1.0] * 18)
    assert runs["theta"].tolist() == ["rain" if case.rained else "dry" for case in study.CASES]
    chosen = imported(path, positive="Rain").runs
    assert chosen["p"].tolist() == runs["p_rain"].tolist()
    assert chosen["theta"].tolist() == [int(case.rained) for case in study.CASES]
    assert (
        imported(path, positive="Rain", percent=True).runs["p"].tolist() == runs["p_rain"].tolist()
    )  # shares are no percentages
    with pytest.raises(InputError, match="received 'snow'"):
        imported(path, positive="snow")


def test_labels_of_the_state(tmp_path, imported, write_table):
    def states(cells, positive=None):
        lines = "\n".join(f"c{row},0.5,{cell}" for row, cell in enumerate(cells))
        path = write_table(tmp_path / "own.csv", "context,p,theta\n" + lines + "\n")
        return imported(path, positive=positive).runs["theta"]

    assert states(["TRUE", "false", 1, 0.0, ""]).fillna(-1).tolist() == [1, 0, 1, 0, -1]
    with pytest.raises(InputError, match="'0.3'"):
        states(["0.3", "0.7"])
    with pytest.raises(InputError, match="Closest name found: 'rain'"):
        states(["rain", "dry"], "rian")
