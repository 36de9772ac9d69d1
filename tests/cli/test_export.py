"""What other programs read of a report: shapes, numbers, and names that nobody may trust."""

import json
import re
import sys
import types
from pathlib import Path

import pandas as pd
import pytest
import yaml

from coherence import CoherenceError, InputError, analyze, simulate, write_runs

ROOT = Path(__file__).parents[2]
HOSTILE = '../a: [x]\n# "y" | <b>| \U0001f600'


@pytest.fixture(scope="module")
def report():
    """Return a report of an agent that leaks, and of one whose name is made to do harm."""
    leaky = simulate("leaky", n_contexts=60, n_reps=2, rng=1)
    both = [leaky.assign(model=name, task="task") for name in ("org/leaky", HOSTILE)]
    return analyze(pd.concat(both), checks=["sufficiency", "cmi"], rng=1)


@pytest.fixture
def folder(report, tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "results.json").write_text(report.to_json())
    return tmp_path / "r"


def test_every_eval_ever_has_the_fields_that_its_schema_requires(folder, report, run, tmp_path):
    """The fields are those of 0.2.2; what was written was also validated with the schema itself."""
    how = ("--format", "every-eval-ever", "--organization", "We", "--date", "2026-01-31")
    status, _, err = run("export", folder, *how, "--out", tmp_path / "e")
    assert status == 0, err
    names = sorted(path.name for path in (tmp_path / "e").glob("*.json"))
    assert names == ["model-1.json", "model-2.json"]  # never text of a table
    records = [json.loads((tmp_path / "e" / name).read_text()) for name in names]
    assert {record["model_info"]["id"] for record in records} == {"org/leaky", HOSTILE}
    primary = report.verdicts.set_index("model").loc["org/leaky"]
    record = next(each for each in records if each["model_info"]["id"] == "org/leaky")
    assert record["schema_version"] == "0.2.2"
    assert record["retrieved_timestamp"] == "1769817600"
    assert record["source_metadata"]["source_organization_name"] == "We"
    assert record["eval_library"].keys() >= {"name", "version"}
    scores = {each["metric_config"]["metric_name"]: each for each in record["evaluation_results"]}
    assert "cmi" not in scores  # nats have no finite range, which the schema requires
    assert "sufficiency.hidden_share" in scores
    for each in scores.values():
        assert each.keys() >= {"evaluation_name", "source_data", "metric_config", "score_details"}
        assert each["source_data"].keys() >= {"dataset_name", "source_type"}
        config, details = each["metric_config"], each["score_details"]["details"]
        bounds = (config["score_type"], config["min_score"], config["max_score"])
        assert bounds == ("continuous", 0, 1)
        assert all(type(text) is str for text in details.values())
    assert "sufficiency.slope" not in scores  # more of it is no worse
    assert all(each["score_details"]["score"] >= 0 for each in scores.values())
    score = scores["sufficiency"]["score_details"]
    interval = score["uncertainty"]["confidence_interval"]
    shown = [score["score"], interval["lower"], interval["upper"]]
    assert shown == primary[["estimate", "low", "high"]].tolist()
    assert float(score["details"]["pvalue"]) == primary["pvalue"]
    assert score["details"]["verdict"] == primary["verdict"]


def test_eval_results_are_yaml_with_the_primary_effect(folder, report, run, tmp_path):
    status, _, err = run(
        *("export", folder, "--format", "eval-results", "--dataset", "me/cases"),
        *("--source", "https://example.org/r", "--date", "2026-01-31", "--out", tmp_path / "e"),
    )
    assert status == 0, err
    written = [yaml.safe_load(path.read_text()) for path in (tmp_path / "e").glob("*.yaml")]
    assert len(written) == 2
    for (entry,) in written:
        assert entry["dataset"] == {"id": "me/cases", "task_id": "task"}
        assert entry["value"] in set(report.verdicts["estimate"])
        assert entry["date"] == "2026-01-31"
        assert entry["source"] == {"url": "https://example.org/r"}
        for part in ("95% interval [", "null: ", "verdict ", "60 cases", "seed 1"):
            assert part in entry["notes"]


def test_a_card_counts_rows_and_says_nothing_that_the_table_does_not(run, tmp_path):
    table = simulate("leaky", n_contexts=5, n_reps=2, rng=1).assign(
        model="a | b\n---\n<b>*c*", task="t", status=["ok"] * 59 + ["refused"], x_age=1
    )
    write_runs(table, tmp_path / "runs.parquet")
    status, _, err = run(
        *("export", tmp_path / "runs.parquet", "--format", "dataset-card"),
        *("--out", tmp_path / "card"),
    )
    assert status == 0, err
    text = (tmp_path / "card" / "README.md").read_text()
    _, front, card = text.split("---\n", 2)
    metadata = yaml.safe_load(front)
    assert "license" not in metadata
    assert metadata["configs"][0]["data_files"] == [{"split": "test", "path": "runs.parquet"}]
    features = {each["name"]: each["dtype"] for each in metadata["dataset_info"]["features"]}
    assert list(features) == list(table.columns)
    assert features["p"] == "float64"
    rows = [[cell.strip() for cell in line.split(" | ")] for line in card.splitlines()]
    (counts,) = [row for row in rows if "&lt;b&gt;" in "".join(row)]
    assert counts == ["| t", r"a \| b --- &lt;b&gt;\*c\*", "60", "5", "59", "0", "0", "1 |"]
    assert any(row[0] == "| x\\_age" and "feature" in row[1] for row in rows)


@pytest.mark.parametrize("text", ["[]", '{"schema_version": 2}'])
def test_a_file_that_is_no_report_is_named_with_a_remedy(text, run, tmp_path):
    how = ("--format", "eval-results", "--dataset", "a/b", "--out", tmp_path / "e")
    (tmp_path / "results.json").write_text(text)
    status, _, err = run("export", tmp_path, *how)
    assert (status, err.count("\n")) == (2, 1)
    assert "results.json" in err
    assert "coherence analyze" in err or "Name the folder" in err


@pytest.mark.lengthy
def test_the_chunks_of_the_quarto_template_run_and_escape_names(report, folder, monkeypatch):
    write_runs(report.results, folder / "results.parquet")
    folder.rename(folder.with_name("report"))
    monkeypatch.chdir(folder.parent)
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda what: shown.append(what.data))
    template = ROOT / "examples" / "report.qmd"
    chunks = re.findall(r"```\{python\}\n(.*?)```", template.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    for chunk in chunks:
        exec(compile(chunk, template.name, "exec"), names)  # noqa: S102
    verdicts, tests, about = shown
    assert verdicts.count("\n- **") == 1
    assert "| org/leaky" in tests
    assert "seed 1" in about
    assert r'\[x\] \# "y" \| \<b\>\|' in verdicts


class FakeMlflow(types.ModuleType):
    """Keeps what is logged; `active` stands for a run that its user has begun."""

    def __init__(self, active):
        super().__init__("mlflow")
        self.__spec__ = types.SimpleNamespace(name="mlflow")
        self.run = types.SimpleNamespace(info=types.SimpleNamespace(run_id="r1"))
        self.active, self.logged, self.tags, self.ended = active, {}, {}, False

    def active_run(self):
        return self.run if self.active else None

    def start_run(self):
        return self.run

    def log_metrics(self, metrics):
        self.logged |= metrics

    def set_tags(self, tags):
        self.tags |= tags

    def end_run(self):
        self.ended = True


@pytest.mark.parametrize("active", [True, False])
def test_effects_are_logged_under_names_that_a_tracker_takes(active, report, monkeypatch):
    fake = FakeMlflow(active)
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    assert report.log_to("mlflow") == "mlflow, run r1"
    assert fake.ended is not active  # a run of the user's goes on
    at = "coherence/org_leaky/task"
    estimate = report.verdicts.set_index("model").loc["org/leaky", "estimate"]
    assert fake.logged[f"{at}/sufficiency.estimate"] == estimate
    assert {"sufficiency.pvalue", "sufficiency.hidden_share.low", "cmi.estimate"} <= {
        name.rpartition("/")[2] for name in fake.logged
    }
    assert len({name.rpartition("/")[0] for name in fake.logged}) == 2
    names = [*fake.logged, *fake.tags]
    assert all(re.fullmatch(r"(?!.*/\.)[a-z_./0-9-]+", name) for name in names)
    assert f"{at}/verdict" in fake.tags
    assert fake.tags["coherence/seed"] == "1"


def test_a_tracker_that_fails_or_is_not_there_says_what_to_do(report, monkeypatch):
    fake = FakeMlflow(active=False)
    monkeypatch.setattr(fake, "log_metrics", lambda metrics: 1 / 0, raising=False)
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    with pytest.raises(CoherenceError, match="ZeroDivisionError"):
        report.log_to("mlflow")
    assert fake.ended
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("coherence.report.trackers.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install wandb"):
        report.log_to("wandb")
    with pytest.raises(InputError, match="mlflow, wandb"):
        report.log_to("tensorboard")
