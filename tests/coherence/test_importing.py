import importlib.util
import json
import math
import struct
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pandas as pd
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence import validate_runs
from coherence.errors import InputError, SchemaError
from coherence.importing.answer_log import flatten
from coherence.importing.archive import Archive
from coherence.importing.assemble import Reading, assemble
from coherence.importing.cells import belief_cell
from coherence.importing.formats import detect_format, read_logs
from coherence.importing.states import as_zero_or_one
from coherence.table.audit import asked_for_action, count_statuses, worst_case_bounds
from coherence.table.storage import write_runs

GOLDEN = Path(__file__).parents[1] / "golden"
BELIEF, ACTION, LETTERS = (
    GOLDEN / name for name in ("inspect_belief.eval", "inspect_action.eval", "inspect_letters.json")
)
TEXT, YES, CHOICE = (
    next(GOLDEN.glob(f"samples_rain_{name}_*.jsonl")) for name in ("text", "yes", "choice")
)
FOLKTEXTS = GOLDEN / "folktexts_predictions.csv"


def load_study():
    spec = importlib.util.spec_from_file_location("rain_study", GOLDEN / "rain_study.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["rain_study"] = module  # dataclasses looks its module up
    spec.loader.exec_module(module)
    return module


STUDY = load_study()


def plain_belief(text):
    """Read a bare number and nothing else, so that these tests do not depend on how free text is decoded."""
    try:
        number = float(text)
    except ValueError:
        return None, "unparsed"
    return (number, "ok") if 0 <= number <= 1 else (None, "out_of_range")


def plain_action(text, options):
    word = text.removeprefix("ANSWER: ")
    return (word, "ok") if word in options else (None, "unparsed")


def imported(*paths, format="auto", belief=(), action=(), mapping=None, model=None, **reading):
    _, logs = read_logs(list(paths), format=format)
    return assemble(
        logs,
        Reading(plain_belief, plain_action, **reading),
        belief_tasks=belief,
        action_tasks=action,
        mapping=mapping,
        model=model,
    )


def expected_belief(case, rep):
    return plain_belief(case.belief(rep))


def test_inspect_logs_hold_every_answer_of_the_study():
    found = imported(BELIEF, ACTION, belief=["rain_belief"], actions=("take", "leave"))
    runs = found.runs.set_index(["context", "rep"])
    validate_runs(found.runs)
    assert found.unpaired == []
    assert len(runs) == len(STUDY.CASES) * STUDY.REPS
    for case in STUDY.CASES:
        for rep in range(STUDY.REPS):
            row = runs.loc[(f"evening-{case.number:02d}", rep)]
            value, belief_status = expected_belief(case, rep)
            said, action_status = plain_action(case.action(rep), ("take", "leave"))
            assert row["raw_belief"] == case.belief(rep)
            assert row["raw_action"] == case.action(rep)
            assert (None if pd.isna(row["p"]) else row["p"]) == value
            assert (None if pd.isna(row["action"]) else row["action"]) == said
            assert row["status"] == (
                "unparsed" if "unparsed" in (belief_status, action_status) else belief_status
            )
            assert (row["theta"], row["p_true"], row["x_humidity"]) == (
                int(case.rained),
                case.p_true,
                case.humidity,
            )
    assert set(found.runs["model"]) == {"mockllm/model"}
    assert set(found.runs["task"]) == {"rain_belief"}


def test_inspect_letters_stand_for_the_choices():
    found = imported(BELIEF, LETTERS, action=["rain_letters"])
    actions = found.runs.set_index(["context", "rep"])["action"]
    assert actions.loc[("evening-00", 0)] == "take the umbrella"
    assert actions.loc[("evening-01", 0)] == "leave it"
    assert pd.isna(actions.loc[("evening-02", 0)])  # "C", which was not offered
    assert actions.loc[("evening-03", 0)] == "leave it"
    assert found.unpaired[0].startswith("beliefs without an action (32): evening-04 repetition 0")


def test_lm_eval_texts_come_with_their_repeats():
    runs = imported(TEXT).runs.set_index(["context", "rep"])
    assert len(runs) == 36
    for case in STUDY.CASES:
        for rep in range(STUDY.REPS):
            assert runs.loc[(case.number, rep), "raw_belief"] == case.belief(rep)
    assert runs["theta"].tolist() == [
        int(case.rained) for case in STUDY.CASES for _ in range(STUDY.REPS)
    ]
    assert "action" not in runs.columns


def test_lm_eval_likelihoods_become_shares_by_hand():
    runs = imported(YES, CHOICE, belief=["rain_yes"], model="fixed").runs
    # The script gave Yes .9 times the share, and No the rest of the .9.
    shares = [
        min(max(case.p_true + 0.05 * (case.number % 3 - 1), 0.02), 0.98) for case in STUDY.CASES
    ]
    assert runs["p"].tolist() == pytest.approx(shares, abs=1e-12)
    assert runs["answer_mass"].tolist() == pytest.approx([0.9] * 18, abs=1e-12)
    offered = [
        case.action(0) if case.action(0) in ("take", "leave") else None for case in STUDY.CASES
    ]
    # The study's one unreadable first action made both options equally likely: no choice.
    assert [None if pd.isna(action) else action for action in runs["action"]] == offered
    assert set(runs["model"]) == {"fixed"}


def test_several_belief_tasks_are_wordings_and_the_action_stands_on_the_first():
    runs = imported(
        TEXT, YES, CHOICE, belief=["rain_text", "rain_yes"], action=["rain_choice"]
    ).runs
    assert runs.groupby("prompt").size().to_dict() == {"rain_text": 36, "rain_yes": 18}
    assert set(runs.loc[runs["action"].notna(), "prompt"]) == {"rain_text"}
    assert runs["prompt"].iloc[0] == "rain_text"


def test_folktexts_predictions_are_beliefs_with_labels():
    runs = imported(FOLKTEXTS).runs
    written = pd.read_csv(FOLKTEXTS, index_col=0)
    assert runs["p"].tolist() == written["risk_score"].tolist()
    assert (
        runs["theta"].tolist()
        == written["label"].tolist()
        == [int(case.rained) for case in STUDY.CASES]
    )
    assert runs["context"].tolist() == written.index.tolist()
    assert list(runs.columns) == [
        "context",
        "rep",
        "p",
        "theta",
        "status",
    ]  # no column for what folktexts does not have


def test_states_without_a_positive_one_get_a_column_each(tmp_path):
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
    assert runs["theta"].tolist() == ["rain" if case.rained else "dry" for case in STUDY.CASES]
    chosen = imported(path, positive="Rain").runs
    assert chosen["p"].tolist() == runs["p_rain"].tolist()
    assert chosen["theta"].tolist() == [int(case.rained) for case in STUDY.CASES]
    assert (
        imported(path, positive="Rain", percent=True).runs["p"].tolist() == runs["p_rain"].tolist()
    )  # shares are no percentages
    with pytest.raises(InputError, match="received 'snow'"):
        imported(path, positive="snow")


def test_choices_that_differ_between_documents_are_no_belief(tmp_path):
    path = tmp_path / "samples_quiz_2026-01-05T12-00-00.000000.jsonl"
    lines = [json.loads(line) for line in YES.read_text().splitlines()]
    lines[3]["arguments"]["gen_args_0"]["arg_1"] = " Never"
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match="nothing says which field holds the belief"):
        imported(path)
    assert "choices differ" in imported(TEXT, path, belief=["rain_text"]).notes[0]


def test_an_infinite_likelihood_is_no_answer(tmp_path):
    path = tmp_path / "samples_rain_2026-01-05T12-00-00.000000.jsonl"
    lines = [json.loads(line) for line in YES.read_text().splitlines()]
    lines[0]["resps"][0][0][0] = "-inf"
    path.write_text("\n".join(map(json.dumps, lines)))
    row = imported(path).runs.iloc[0]
    assert pd.isna(row["p"])
    assert row["status"] == "unparsed"


@pytest.mark.parametrize(
    ("value", "message"), [("12", "must not be positive; received 12"), ("low", "is no number")]
)
def test_an_impossible_likelihood_is_an_error(tmp_path, value, message):
    path = tmp_path / "samples_rain_2026-01-05T12-00-00.000000.jsonl"
    lines = [json.loads(line) for line in YES.read_text().splitlines()]
    lines[2]["resps"][0][0][0] = value
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match=f"line 3: .*{message}"):
        imported(path)


def test_filters_of_lm_eval_are_fields_and_no_second_answers(tmp_path):
    path = tmp_path / "samples_rain_2026-01-05T12-00-00.000000.jsonl"
    lines = [json.loads(line) for line in TEXT.read_text().splitlines()]
    strict = [line | {"filter": "strict", "filtered_resps": ["0.5"]} for line in lines]
    path.write_text("\n".join(map(json.dumps, [*lines, *strict])))
    assert len(imported(path).runs) == 36
    kept = imported(path, mapping={"p": "filtered.strict"}).runs
    assert kept.loc[kept["rep"] == 0, "p"].eq(0.5).all()
    assert (
        kept.loc[kept["rep"] == 1, "status"].eq("unparsed").all()
    )  # the filter kept the first repeat only


def write_table(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_keeps_ids_and_labels_as_they_are(tmp_path):
    table = write_table(
        tmp_path / "mine.csv",
        "case,confidence,choice,rain,x_age\n007,0.7,NA,yes,3\n008,about half,stay,no,4\n009,,stay,no,5\n",
    )
    runs = imported(
        table, mapping={"context": "case", "p": "confidence", "action": "choice", "theta": "rain"}
    ).runs
    assert runs["context"].tolist() == ["007", "008", "009"]
    assert runs["action"].tolist() == ["NA", "stay", "stay"]
    assert runs["status"].tolist() == ["ok", "unparsed", "unparsed"]
    assert runs["raw_belief"].tolist()[1] == "about half"
    assert runs["x_age"].tolist() == [3, 4, 5]


def test_percentages_are_divided_only_when_asked(tmp_path):
    table = write_table(tmp_path / "mine.csv", "p,action,theta\n70,a,1\n101,b,0\n0.5,a,1\n")
    assert imported(table).runs["status"].tolist() == ["out_of_range", "out_of_range", "ok"]
    runs = imported(table, percent=True).runs
    assert runs["p"].tolist()[0] == 0.7
    assert runs["p"].tolist()[2] == 0.005
    assert runs["status"].tolist() == ["ok", "out_of_range", "ok"]
    assert runs["raw_belief"].tolist()[1] == "101"


def test_a_status_of_the_tables_own_survives(tmp_path):
    table = write_table(
        tmp_path / "mine.csv",
        "p,action,theta,status\n,a,1,refused\n,a,1,ok\n0.5,a,1,repaired:percent\n",
    )
    assert imported(table).runs["status"].tolist() == ["refused", "unparsed", "repaired:percent"]
    table = write_table(tmp_path / "other.csv", "p,action,theta,status\n0.5,a,1,fine\n")
    with pytest.raises(SchemaError, match="'fine'"):
        imported(table)


def test_stated_distributions_that_miss_one_are_not_renormalised(tmp_path):
    lines = [
        {"p_dry": 0.6, "p_wet": 0.4, "action": "a", "theta": "dry"},
        {"p_dry": 0.6, "p_wet": 0.6, "action": "a", "theta": "wet"},
    ]
    table = write_table(tmp_path / "mine.jsonl", "\n".join(map(json.dumps, lines)))
    runs = imported(table).runs
    assert runs["status"].tolist() == ["ok", "sum_not_one"]
    assert runs["p_dry"].isna().tolist() == [False, True]
    assert runs["raw_belief"].tolist()[1] == "p_dry=0.6; p_wet=0.6"


def test_actions_without_beliefs_keep_their_rows(tmp_path):
    beliefs = write_table(tmp_path / "beliefs.csv", "context,p,theta\na,0.2,0\nb,0.8,1\n")
    actions = write_table(tmp_path / "actions.csv", "context,action\nb,go\nc,stay\n")
    found = imported(beliefs, actions, belief=["beliefs"], action=["actions"])
    assert found.runs["context"].tolist() == ["a", "b", "c"]
    assert found.runs["action"].fillna("").tolist() == ["", "go", "stay"]
    assert found.runs["status"].tolist() == ["ok", "ok", "unparsed"]
    assert found.unpaired == [
        "beliefs without an action (1): a repetition 0",
        "actions without a belief, each a row that is at best unparsed (1): c repetition 0",
    ]


def test_models_and_tasks_are_joined_each_to_its_own(tmp_path):
    beliefs = write_table(
        tmp_path / "beliefs.csv",
        "task,model,context,p,theta\nt,m,a,0.1,0\nt,n,a,0.2,0\nu,m,a,0.3,0\n",
    )
    actions = write_table(
        tmp_path / "actions.csv", "task,model,context,action\nu,m,a,three\nt,n,a,two\nt,m,a,one\n"
    )
    found = imported(beliefs, actions, belief=["beliefs"])
    assert found.runs["action"].tolist() == ["one", "two", "three"]
    assert found.unpaired == []


def test_actions_stand_on_the_reference_wording_and_not_on_rows_given_z(tmp_path):
    header = "context,prompt,z,z_state,p_z,p,theta\n"
    beliefs = write_table(
        tmp_path / "beliefs.csv",
        f"{header}a,other,,,,0.1,0\na,standard,season,dry,0.5,0.3,0\na,standard,,,,0.2,0\n",
    )
    actions = write_table(tmp_path / "actions.csv", "context,action\na,go\n")
    assert imported(beliefs, actions, belief=["beliefs"]).runs["action"].fillna("").tolist() == [
        "",
        "",
        "go",
    ]


def test_logs_of_two_models_are_two_units(tmp_path):
    paths = []
    for model in ("small", "large"):
        for task, said in (("belief", "0.5"), ("action", f"go {model}")):
            entries = {
                "header.json": json.dumps(
                    {"status": "success", "eval": {"task": task, "model": model}}
                ),
                "samples/1.json": sample(1, said),
            }
            paths.append(packed(tmp_path / f"{model}_{task}.eval", entries))
    runs = imported(*paths, belief=["belief"], actions=("go small", "go large")).runs
    assert runs[["model", "action"]].to_numpy().tolist() == [
        ["small", "go small"],
        ["large", "go large"],
    ]


def test_logs_without_a_common_sample_are_refused(tmp_path):
    beliefs = write_table(tmp_path / "beliefs.csv", "context,p,theta\na,0.2,0\n")
    actions = write_table(tmp_path / "actions.csv", "context,action\nb,go\n")
    with pytest.raises(
        InputError,
        match=r"no answer of the action log .* \(1\): a repetition 0; .* \(1\): b repetition 0",
    ):
        imported(beliefs, actions, belief=["beliefs"])


def test_samples_gathered_into_contexts_are_counted(tmp_path):
    lines = [
        {"id": number, "group": number // 2, "p": 0.5, "theta": 1, "action": "a"}
        for number in range(6)
    ]
    table = write_table(tmp_path / "mine.jsonl", "\n".join(map(json.dumps, lines)))
    runs = imported(table, mapping={"context": "group"}).runs
    assert runs["context"].tolist() == [0, 0, 1, 1, 2, 2]
    assert runs["rep"].tolist() == [0, 1, 0, 1, 0, 1]


def test_the_same_answers_twice_are_refused():
    with pytest.raises(
        InputError,
        match="36 answers occur more than once, the first is context 'evening-00', repetition 0",
    ):
        imported(BELIEF, BELIEF)


def test_a_mapping_of_the_action_is_not_looked_for_in_the_beliefs():
    mapping = {"action": "scores.match.answer", "p": "scores.match.answer"}
    runs = imported(
        BELIEF, ACTION, belief=["rain_belief"], mapping=mapping, actions=("take", "leave")
    ).runs
    assert runs["p"].iloc[0] == 0.05
    assert runs["action"].iloc[0] == "leave"


def test_a_column_can_be_left_out():
    assert "theta" not in imported(BELIEF, mapping={"theta": "-"}).runs.columns


def test_actions_that_were_asked_in_vain_keep_their_column(tmp_path):
    """Without the column a report would say that nothing was asked."""
    beliefs = write_table(tmp_path / "beliefs.csv", "context,p,theta\na,0.2,0\nb,0.8,\n")
    actions = write_table(tmp_path / "actions.csv", "context,action\na,\nb,\n")
    runs = imported(beliefs, actions, belief=["beliefs"]).runs
    assert runs["action"].isna().all()
    assert runs["status"].tolist() == ["unparsed", "unparsed"]
    assert asked_for_action(runs.assign(prompt="standard", z_state=None), "standard").all()
    nobody_knows = write_table(tmp_path / "open.csv", "context,p,theta\na,0.2,\nb,0.8,\n")
    assert list(imported(nobody_knows).runs.columns) == ["context", "rep", "p", "status"]


def test_a_belief_without_an_action_was_not_asked_for_one(tmp_path):
    beliefs = write_table(tmp_path / "beliefs.csv", "context,p,theta\na,0.2,0\nb,0.8,1\nc,0.7,1\n")
    actions = write_table(tmp_path / "actions.csv", "context,action\nb,go\nc,stay\n")
    runs = imported(beliefs, actions, belief=["beliefs"]).runs.assign(
        prompt="standard", z_state=None
    )
    counts = count_statuses(runs, "standard").set_index("question")["rows"]
    assert counts.to_dict() == {"standard": 1, "standard, with action": 2}
    rates = worst_case_bounds(runs, "standard").query("quantity == 'choice rate'")
    assert (rates["unreadable"] == 0).all()
    assert (rates["asked"] == 2).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing says what 'rain_belief', 'rain_action' asked for"),
        (
            {"belief": ["rain_beleif"]},
            "no log has the task 'rain_beleif'. Closest name found: 'rain_belief'",
        ),
        (
            {"belief": ["rain_belief"], "action": ["rain_belief"]},
            "named as belief_task and as action_task",
        ),
        ({"belief": ["rain_belief"]}, "does not say which actions were offered. .* 'take' "),
        ({"action": ["rain_belief", "rain_action"]}, "there is no task of beliefs"),
        (
            {"belief": ["rain_belief"], "mapping": {"p": "metadata.p_ture"}},
            "no log has the field 'metadata.p_ture'.* Closest name found: 'metadata.p_true'",
        ),
        (
            {"belief": ["rain_belief"], "mapping": {"acton": "output"}},
            "'acton', which is no column .* 'action'",
        ),
        (
            {
                "belief": ["rain_belief"],
                "mapping": {"theta": "metadata.x_humidity"},
                "actions": ("take",),
            },
            "theta has the labels 'low', 'middling', 'high'",
        ),
        (
            {"belief": ["rain_belief"], "mapping": {"p_true": "target"}},
            "field 'target' must hold numbers to be used as 'p_true'; received 'No'",
        ),
    ],
)
def test_what_is_not_clear_is_asked_for(options, message):
    with pytest.raises(InputError, match=message):
        imported(BELIEF, ACTION, **options)


def test_a_state_that_varies_within_a_context_is_found(tmp_path):
    table = write_table(tmp_path / "mine.csv", "context,p,action,theta\na,0.2,x,0\na,0.2,x,1\n")
    with pytest.raises(SchemaError, match="theta must be the same in all rows of a context"):
        imported(table)


# Damaged and hostile files


def packed(path, entries, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


HEADER = json.dumps({"status": "success", "eval": {"task": "t", "model": "m"}})


def sample(number, said="0.5", **more):
    return json.dumps(
        {
            "id": number,
            "epoch": 1,
            "target": "Yes",
            "output": {"choices": [{}], "completion": said},
            **more,
        }
    )


def test_deflated_and_zstandard_entries_read_alike(tmp_path):
    with Archive(BELIEF) as golden:
        entries = {name: golden.read(name) for name in golden.names}
    again = packed(tmp_path / "again.eval", entries)
    pd.testing.assert_frame_equal(imported(again).runs, imported(BELIEF).runs)


@pytest.mark.parametrize("length", [10, 3000, -30])
def test_a_truncated_archive_is_named(tmp_path, length):
    path = tmp_path / "cut.eval"
    path.write_bytes(BELIEF.read_bytes()[:length])
    with pytest.raises(InputError, match="this is no complete zip file"):
        read_logs([path])


@pytest.mark.parametrize("position", range(100, 1000, 50))
def test_a_flipped_byte_never_passes_for_content(tmp_path, position):
    content = bytearray(BELIEF.read_bytes())
    content[position] ^= 0xFF
    path = tmp_path / "flipped.eval"
    path.write_bytes(content)
    with Archive(BELIEF) as whole, Archive(path) as damaged:
        for name in whole.names:
            try:
                content = damaged.read(name)
            except InputError:
                continue
            assert content == whole.read(name)


def test_a_bomb_is_refused_by_what_it_says_and_by_what_it_does(tmp_path):
    bomb = packed(
        tmp_path / "bomb.eval", {"header.json": HEADER, "samples/1.json": b" " * 5_000_000}
    )
    with pytest.raises(
        InputError,
        match=r"says that it unpacks to 5,000,000 bytes; more than 1,000,000 are refused.*--max-bytes",
    ):
        read_logs([bomb], max_bytes=1_000_000)
    lying = bytearray(bomb.read_bytes())
    for place in (
        spot
        for spot in range(len(lying) - 4)
        if lying[spot : spot + 4] == struct.pack("<I", 5_000_000)
    ):
        lying[place : place + 4] = struct.pack("<I", 10)
    (tmp_path / "lying.eval").write_bytes(lying)
    with pytest.raises(InputError, match="damaged"):
        read_logs([tmp_path / "lying.eval"], max_bytes=1_000_000)


def test_a_zstandard_bomb_stops_at_the_limit(tmp_path):
    content, small = b" " * 50_000_000, b" " * 10
    squeezed = pyarrow.Codec("zstd").compress(content, asbytes=True)
    name = b"header.json"
    sizes = (zlib.crc32(small), len(squeezed), len(small), len(name))
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 63, 0, 93, 0, 33, *sizes, 0) + name + squeezed
    entry = (
        struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 63, 63, 0, 93, 0, 33, *sizes, 0, 0, 0, 0, 0, 0)
        + name
    )
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(local), 0)
    path = tmp_path / "bomb.eval"
    path.write_bytes(local + entry + end)
    tracemalloc.start()
    with (
        Archive(path, max_bytes=100_000) as archive,
        pytest.raises(
            InputError, match="unpacks to more than it says; more than 100,000 are refused"
        ),
    ):
        archive.read("header.json")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def test_names_in_an_archive_are_never_paths(tmp_path):
    entries = {
        "header.json": HEADER,
        "samples/../../../outside.json": sample(1),
        "/samples/absolute.json": sample(2),
        "samples/x.json": sample(3),
    }
    inner = tmp_path / "inner"
    inner.mkdir()
    log = packed(inner / "odd.eval", entries)
    _, (read,) = read_logs([log])
    assert [record["id"] for record in read.records] == [1, 3]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["inner", "odd.eval"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.eval", "no zip at all", "no complete zip file"),
        ("a.json", "{", "is not JSON"),
        ("a.json", "[1]", "it is a JSON list"),
        ("a.json", '{"results": 1}', "no eval.task. Its fields are 'results'"),
        ("a.json", HEADER, "the log has no samples"),
        ("a.json", "[" * 100_000, "nested too deeply|not JSON"),
        ("a.jsonl", '{"p": 0.5}\n{"p": \n', "line 2 is not JSON"),
        ("a.jsonl", '{"p": 0.5}\n[1]\n', "line 2 is a JSON list"),
        (
            "a.jsonl",
            '{"doc_id": 0, "resps": [["a"]], "doc": {}, "target": 1}\n{"doc_id": 1, "resps": []}\n',
            "line 2 lacks 'doc', 'target'",
        ),
        ("a.csv", "", "empty"),
        ("a.csv", "p,action\n", "no rows"),
        ("a.csv", "p,action,p\n1,2,3\n", "column 'p' occurs more than once"),
        ("a.csv", "p,action,theta\n1,2\n", "line 2 has 2 cells, the header 3"),
        ("a.csv", "confidnce,action,theta\n1,2,1\n", "nothing says which field holds the belief"),
        ("a.xlsx", "x", "the ending must be .eval, .json, .jsonl, .csv or .tsv"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, name, content, message):
    path = write_table(tmp_path / name, content)
    with pytest.raises(InputError, match=message):
        imported(path)


def test_a_zip_that_is_no_log_and_one_that_is_encrypted(tmp_path):
    with pytest.raises(InputError, match="no entry 'header.json'"):
        read_logs([packed(tmp_path / "other.eval", {"word/document.xml": "x"})])
    locked = bytearray(packed(tmp_path / "locked.eval", {"header.json": HEADER}).read_bytes())
    locked[6] |= 1
    locked[locked.rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.eval").write_bytes(locked)
    with pytest.raises(InputError, match="encrypted"):
        read_logs([tmp_path / "locked.eval"])


def test_formats_are_told_by_content_and_not_mixed():
    told = {path: detect_format(path) for path in (BELIEF, LETTERS, TEXT, FOLKTEXTS)}
    assert list(told.values()) == ["inspect", "inspect", "lm-eval", "folktexts"]
    with pytest.raises(InputError, match="is of the format folktexts, .* of the format inspect"):
        read_logs([BELIEF, FOLKTEXTS])
    with pytest.raises(InputError, match="no such file"):
        read_logs([GOLDEN])
    with pytest.raises(InputError, match="folktexts writes its predictions as .csv"):
        read_logs([FOLKTEXTS, TEXT], format="folktexts")


def test_a_missing_column_names_the_nearest(tmp_path):
    table = write_table(tmp_path / "a.csv", ",risk_scores,label\n0,0.5,1\n")
    with pytest.raises(
        InputError,
        match="writes a column 'risk_score', and there is none. Closest name found: 'risk_scores'",
    ):
        read_logs([table], format="folktexts")


def test_an_unfinished_run_says_so_and_counts_what_is_missing(tmp_path):
    start = json.dumps(
        {"eval": {"task": "t", "model": "m", "dataset": {"samples": 3}, "config": {"epochs": 1}}}
    )
    failed = json.dumps(
        {
            "id": 2,
            "epoch": 1,
            "target": "No",
            "output": {"choices": [], "completion": ""},
            "error": {"message": "no network"},
        }
    )
    log = packed(
        tmp_path / "cut.eval",
        {"_journal/start.json": start, "samples/1.json": sample(1), "samples/2.json": failed},
    )
    found = imported(log)
    assert found.runs["status"].tolist() == ["ok", "unparsed"]
    assert found.notes == [
        "cut.eval: the run did not finish (status unknown)",
        "cut.eval: 2 of 3 samples are in the log",
        "cut.eval: samples that ended in an error: 1; an answer that is missing counts as unparsed",
    ]


def test_an_attached_answer_is_looked_up(tmp_path):
    attached = sample(1, said="attachment://abc", attachments={"abc": "0.25"})
    parts = json.dumps(
        {
            "id": 2,
            "target": "No",
            "output": {"choices": [{"message": {"content": [{"type": "text", "text": "0.5"}]}}]},
        }
    )
    log = packed(
        tmp_path / "a.eval",
        {"header.json": HEADER, "samples/1.json": attached, "samples/2.json": parts},
    )
    assert imported(log).runs["p"].tolist() == [0.25, 0.5]


NESTED = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=8), part, max_size=4)
    ),
    max_leaves=8,
)


@given(NESTED)
def test_fields_are_scalars_whatever_the_log_holds(value):
    assert all(
        part is None or isinstance(part, bool | int | float | str)
        for part in flatten(value, "metadata").values()
    )


@given(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    st.booleans(),
    st.sampled_from([1.0, 100.0]),
)
def test_a_belief_is_a_probability_or_has_a_reason(value, is_text, scale):
    cell = belief_cell(value, plain_belief, is_text=is_text, scale=scale)
    if cell.status == "ok":
        assert isinstance(cell.value, float)
        assert 0 <= cell.value <= 1
        assert math.isfinite(cell.value)
    else:
        assert cell.value is None


def somewhere(value, draw, replacement):
    """Return a copy of nested JSON in which one part, anywhere, is another value."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 4)) == 0:
        return replacement
    key = draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
    changed = value.copy()
    changed[key] = somewhere(value[key], draw, replacement)
    return changed


@pytest.mark.parametrize("golden", [LETTERS, YES, TEXT])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_log_of_another_shape_is_refused_or_read_and_never_crashes(
    golden, tmp_path_factory, data
):
    lines = golden.read_text().splitlines() if golden.suffix == ".jsonl" else [golden.read_text()]
    number = data.draw(st.integers(0, len(lines) - 1))
    odd = NESTED | st.sampled_from([10**400, -(2**70), "\ud800", True, [[["nan", "True"]]]])
    lines[number] = json.dumps(somewhere(json.loads(lines[number]), data.draw, data.draw(odd)))
    path = tmp_path_factory.mktemp("odd") / golden.name
    path.write_text("\n".join(lines))
    try:
        found = imported(path, mapping={"theta": "-"})
    except (InputError, SchemaError):
        return
    write_runs(found.runs, path.with_name("runs.parquet"))
    assert len(found.runs) > 0


def test_labels_of_the_state():
    assert as_zero_or_one(["TRUE", "false", 1, 0.0, None], None) == [1, 0, 1, 0, None]
    with pytest.raises(InputError, match="'0.3'"):
        as_zero_or_one(["0.3", "0.7"], None)
    with pytest.raises(InputError, match="Closest name found: 'rain'"):
        as_zero_or_one(["rain", "dry"], "rian")


def test_golden_logs_name_no_place_and_no_person():
    for path in GOLDEN.iterdir():
        if path.suffix == ".eval":
            with Archive(path) as archive:
                content = b"".join(archive.read(name) for name in archive.names)
        else:
            content = path.read_bytes() if path.is_file() else b""
        assert not any(
            word in content
            for word in (b"/tmp", b"/home", b"/root", b"/work", b"site-packages", b"Traceback")
        ), path.name
