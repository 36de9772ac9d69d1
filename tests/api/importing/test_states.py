import json
from pathlib import Path

import pytest

from coherence import InputError
from coherence.importing.states import as_zero_or_one

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


def test_labels_of_the_state():
    assert as_zero_or_one(["TRUE", "false", 1, 0.0, None], None) == [1, 0, 1, 0, None]
    with pytest.raises(InputError, match="'0.3'"):
        as_zero_or_one(["0.3", "0.7"], None)
    with pytest.raises(InputError, match="Closest name found: 'rain'"):
        as_zero_or_one(["rain", "dry"], "rian")
