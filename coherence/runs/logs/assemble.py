"""From logs to the runs table: fields become columns, and actions are joined to their beliefs.

A log holds beliefs or actions, told by its task; which field becomes which column the user says,
else the format. Ids of samples follow the order of a data set, which may be shuffled: so what both
logs say of a sample (the hash of the document, its target, its input, its metadata) is compared in
every sample that is joined. An action without a belief keeps its row, and a belief without an
action, both counted. The table is then read as a file's is.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import pandas as pd

from coherence.decoding.decode import worst
from coherence.errors import InputError, SchemaError, closest, listing
from coherence.printable import counted
from coherence.runs.cells import Cells, numbers
from coherence.runs.columns import (
    AS_IT_IS,
    COLUMN_NAMES,
    EXACT,
    FEATURE_PREFIX,
    KIND,
    PERCENT,
    RECORDED,
    STATE_PREFIX,
    Naming,
    Scale,
    is_belief,
    is_state,
)
from coherence.runs.formats import ARRAY, FileTable, column_of, inner_suffix, read_array
from coherence.runs.logs import inspect_log, lm_eval
from coherence.runs.logs.answers import (
    SHARE,
    AnswerForm,
    AnswerLog,
    LogFormat,
    answers_of,
    names_of,
)
from coherence.runs.read import examined
from coherence.runs.roles import doubt_percent
from coherence.runs.runs import MEANT, REFERENCE
from coherence.runs.states import YES, folded, named_state, typed_option, zero_or_one

LEFT_OUT = "-"  # stands for no field: a column that the format would fill is left out
# The target of an action log may be the right action, and is not taken for the state; evidence and
# posterior stand in the belief log too, and could only contradict it.
_FROM_ACTION_LOGS = ("task", "model", "context", "rep", "action", "raw_action")
FORMATS = (inspect_log.FORMAT, lm_eval.FORMAT)
RECORD = "record"  # column of answers on their way: the record that a row was read from
HASH = "doc_hash"  # field of what identifies a document wherever it stands
_OF_SAMPLES = re.compile(rf"{HASH}|input|target(?:\..+)?|(?:metadata|doc)\..+", re.DOTALL)
_KEY = ["task", "model", "context", "rep"]  # what an answer is known by


def format_of(paths: Sequence[Path]) -> LogFormat:
    """Return the one format of files: fields mean other things in each, and are mapped once."""
    forms = {form.name: form for form in map(_format_of, paths)}
    if len(forms) > 1:
        raise InputError(f"import files of different formats ({listing(forms)}) one by one.")
    return next(iter(forms.values()))


def _format_of(path: Path) -> LogFormat:
    if not path.is_file():
        raise InputError(f"{path}: no such file. Name the log itself, not its folder.")
    suffix = inner_suffix(path)
    for form in FORMATS:
        if suffix in form.endings and form.recognises(path):
            return form
    if suffix == ARRAY:
        read_array(path, AS_IT_IS)  # says what is wrong with a table
    raise InputError(
        f"{path} is not a log of {' or '.join(form.name for form in FORMATS)}. A table needs no "
        f"import: coherence analyze {shlex.quote(str(path))}."
    )


def assemble(
    logs: Sequence[AnswerLog],
    form: AnswerForm,
    *,
    belief_task: str | None = None,
    action_task: str | None = None,
    mapping: Mapping[str, str] | None = None,
    model: str | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Return a runs table of logs, and notes; `mapping` is from columns to fields."""
    mapping = mapping or {}
    beliefs, actions = _split_by_task(logs, belief_task, action_task)
    named = {log.model for log in logs if log.model is not None}
    # A log without a model's name goes with the others, if they agree on one.
    if model is None and len(named) == 1:
        (model,) = named
    mapped, sources, notes = list[str](), dict[str, str](), list[str]()
    parts: dict[bool, list[pd.DataFrame]] = {True: [], False: []}
    for log in (*beliefs, *actions):
        of_beliefs, line = log in beliefs, None
        has_action = not of_beliefs or not actions
        fields = _fields(log, mapping, form.positive, of_beliefs, has_action, logs)
        notes += [f"{log.file}: {note}" for note in log.notes]
        if of_beliefs:
            sources |= fields
            line, doubts = _line_of(log, fields, form.line)
            notes += doubts
        shown = (name if name == fields[name] else f"{name} = {fields[name]}" for name in fields)
        role = "belief" if of_beliefs else "action"
        mapped.append(f"{role} from {log.name} ({log.file}): {', '.join(shown)}")
        known: dict[str, object] = {"task": beliefs[0].task, "model": log.model or model}
        known |= {"prompt": None, "context": None, RECORD: [*log.records]}
        cells = known | answers_of(log, fields, replace(form, line=line))
        # One id may be written in two forms of Unicode.
        rows = filled(pd.DataFrame(cells, range(len(log.records)), dtype=object))
        ids = rows["context"]
        rows["context"] = [normalize("NFC", i) if isinstance(i, str) else i for i in ids]
        parts[of_beliefs].append(rows)
    # Contexts that gather samples make the log's own numbers repeat within them.
    counts = "context" in mapping and "rep" not in mapping
    answers = stacked(parts[True], counts=counts)
    if actions:
        chosen = stacked(parts[False], counts=counts)
        id_field = mapping.get("context", beliefs[0].fields.get("context", ""))
        truths = [sources[name] for name in ("theta", EXACT) if name in sources]
        names = f"{beliefs[0].name} and {actions[0].name}"
        notes += compared(answers, chosen, id_field, truths, names)
        answers, found = joined(answers, chosen)
        notes += found
    table = _as_file(answers.drop(columns=RECORD), form.positive)
    table.attrs[MEANT] = [*sources]  # they are what their names say, also where it is read again
    if "theta" not in {*table, *mapping}:
        notes.append("no theta: name the field that says what came true: --truth FIELD")
    # Wordings and models may be imported one by one, so a table need not allow a check by itself.
    valid, wrong = examined(FileTable(table), part=True, ours=True, named=Naming(sources))
    if errors := [*wrong.of_options, *wrong.of_table]:
        raise SchemaError(errors, ", ".join(log.file for log in logs))
    return valid.frame(), [*mapped, *notes, *map(str, valid.notes)]


def _line_of(
    log: AnswerLog, fields: Mapping[str, str], line: Scale | None
) -> tuple[Scale | None, list[str]]:
    """Return the line that the beliefs of a log are on, with notes; refuse what may be another."""
    stated = {column: name for column, name in fields.items() if is_belief(column)}
    if line is None or any(name in log.probabilities for name in stated.values()):
        return None, []
    if line is not PERCENT:
        names = ", ".join(stated.values())
        return line, [f"{names} was read on the scale {line}: {line.described()}"]
    cells = [record.get(name) for record in log.records for name in stated.values()]
    bare = numbers(pd.Series(cells, dtype=object)).bare
    error, doubts = doubt_percent(repr(", ".join(stated)), bare, several=len(stated) > 1)
    if error:
        raise InputError(f"{log.file}: {error}")
    return line, [f"{log.file}: {doubt}" for doubt in doubts]


def _as_file(answers: pd.DataFrame, positive: str | None) -> pd.DataFrame:
    """Lay answers out as a file has them, in the schema's order; theta is 0 or 1."""
    if KIND not in answers:
        known = answers.reindex(columns=["theta", EXACT]).notna().any(axis=1)
        answers[KIND] = known.map({True: RECORDED, False: None})
    own = [n for n in map(str, answers) if is_state(n) or n.startswith(FEATURE_PREFIX)]
    names = [*(name for name in COLUMN_NAMES if name in answers), *own]
    if "theta" in names and not any(map(is_state, names)):  # of several states labels are needed
        answers["theta"] = _zero_or_one(answers["theta"], positive)
    # What was asked keeps its column even if no answer could be read; what the logs do not have is
    # no column at all.
    always = ("action", "status")
    kept = [n for n in names if is_belief(n) or n in always or answers[n].notna().any()]
    return pd.DataFrame({name: column_of(answers[name].tolist()) for name in kept})


def _zero_or_one(cells: Cells, positive: str | None) -> Cells:
    """Turn labels of the realised state into 1 for the positive one and 0 for the others."""
    labels = cells.map(str, na_action="ignore")
    seen = [*labels.dropna().unique()]
    codes = zero_or_one(seen, positive, name="theta") if seen else ()
    if codes is None:
        shown = listing((repr(label[:40]) for label in seen), 6)
        raise InputError(
            f"theta has the labels {shown}, and nothing says whose probability p is. "
            "Name that label (--positive LABEL), or name another field as --truth."
        )
    return labels.map(dict(zip(seen, codes, strict=True))).astype("Int64").astype(object)


def _split_by_task(
    logs: Sequence[AnswerLog], belief_task: str | None, action_task: str | None
) -> tuple[list[AnswerLog], list[AnswerLog]]:
    """Part logs into those of beliefs and those of actions."""
    tasks = [*dict.fromkeys(log.name for log in logs)]
    # What is not named takes the role that is left, if only one way is possible.
    rest = [name for name in tasks if name not in (belief_task, action_task)]
    beliefs = rest if belief_task is None else [belief_task]
    actions = [action_task] if action_task else rest * (belief_task is not None)
    if len(beliefs) != 1 or len(actions) > 1 or {*tasks} != {*beliefs, *actions}:
        raise InputError(
            f"the logs have the tasks {listing(map(repr, tasks))}: say which one asked for beliefs "
            "(--belief-task NAME) and which for actions (--action-task NAME), and import others, "
            "as those of another prompt or that hold both, one by one."
        )
    of_beliefs, of_actions = ([log for log in logs if log.name in n] for n in (beliefs, actions))
    return of_beliefs, of_actions


def _fields(
    log: AnswerLog,
    mapping: Mapping[str, str],
    positive: str | None,
    of_beliefs: bool,
    has_action: bool,
    logs: Sequence[AnswerLog],
) -> dict[str, str]:
    """Return column -> field: as the user says where the log can serve it, else as the format.

    A log `of_beliefs` has no action where another one has; of facts it may lack what others have.
    """
    answer = log.fields.get("answer")
    fields = {column: name for column, name in log.fields.items() if column != "answer"}
    if not of_beliefs:
        fields = {column: fields[column] for column in _FROM_ACTION_LOGS if column in fields}
        fields |= {} if answer is None else {"action": answer}
        mapping = {column: name for column, name in mapping.items() if not is_belief(column)}
    elif any(map(is_belief, mapping)):
        rest = [name for name in fields if not is_belief(name) and name != "answer_mass"]
        fields = {column: fields[column] for column in rest}
    elif log.states:
        fields |= _shares(log, positive)
    elif answer is not None and answer not in log.labels:
        fields["p"] = answer
    if of_beliefs and mapping.get("theta", LEFT_OUT) not in (LEFT_OUT, fields.get("theta")):
        fields.pop(EXACT, None)  # it is the posterior of another state
    for column, name in mapping.items():
        if column in ("action", "raw_action") and not has_action:
            continue
        # Of several logs one may lack a fact, but not the answer nor what it is joined by.
        needed = is_belief(column) or column in ("action", "context")
        names = names_of(dict.fromkeys(each.field_names) for each in ([log] if needed else logs))
        if name not in (*names, LEFT_OUT):
            said = f"{log.file}: no field {name!r} to use as {column!r}."
            raise InputError(f"{said} {closest(name, names)}")
        if name in (*log.field_names, LEFT_OUT):
            fields[column] = name
    unwanted = () if has_action else ("action", "raw_action")
    fields = {c: name for c, name in fields.items() if name != LEFT_OUT and c not in unwanted}
    if any(map(is_belief, fields)) if of_beliefs else "action" in fields:
        return fields
    role, near = ("belief", "probability") if of_beliefs else ("action", "action")
    # Shares of choices that differ between documents are beliefs in nothing.
    held = [name for name in log.field_names if not name.startswith(SHARE)]
    raise InputError(
        f"{log.file}: nothing says which field holds the {role}. {closest(near, held)} "
        f"Name it: --{role} FIELD."
    )


def _shares(log: AnswerLog, positive: str | None) -> dict[str, str]:
    """Return the shares of scored states: with a positive state one number, else a column each."""
    # Yes against one other: of three, the belief in Yes would leave two unsaid.
    likely = [state for state in log.states if folded(state) in YES]
    if positive is not None:
        likely = [named_state(log.states, positive, name="the states that were scored")]
    if len(likely) == 1 and (positive is not None or len(log.states) == 2):
        return {"p": f"{SHARE}{likely[0]}"}
    shares = {f"{STATE_PREFIX}{name}": f"{SHARE}{name}" for name in log.states}
    # A state called 'true' would fill p_true, the exact posterior.
    if clash := [column for column in shares if column in COLUMN_NAMES]:
        raise InputError(
            f"{log.file}: state {clash[0][2:]!r} would make the column {clash[0]!r}, "
            "which means something else. Name --positive LABEL."
        )
    return shares


def filled(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of cells as they are; what is missing or an empty text is None."""
    table = table.astype(object)
    return table.where(table.notna() & (table != ""), None)


def stacked(parts: Sequence[pd.DataFrame], *, counts: bool) -> pd.DataFrame:
    """Put answers under each other; number repetitions, all if `counts`; refuse doubled ones."""
    rows = filled(pd.concat(parts, ignore_index=True))
    columns = ["task", "model", "prompt", "context"]
    question, known = filled(rows.reindex(columns=[*columns, "rep"])), rows["context"].notna()
    nth = question.groupby(columns, dropna=False, sort=False).cumcount()
    rows["rep"] = question["rep"] = question["rep"].mask(
        known & (question["rep"].isna() | counts), nth
    )
    keys = question.astype(str).assign(rep=question["rep"].map(folded))
    twice = question[known & keys.duplicated()]
    if len(twice):
        first = twice.iloc[0]
        raise InputError(
            f"{len(twice)} answers occur more than once, the first is context "
            f"{str(first['context'])!r}, repetition {first['rep']}, model {first['model']!r}. "
            "Leave out the file that repeats them, or name the model of each import: --model."
        )
    return rows


def _with_keys(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers that have a context, by what each is known by."""
    known = answers[answers["context"].notna()]
    columns = [
        known.reindex(columns=[name])[name].map(folded if name == "rep" else str) for name in _KEY
    ]
    return known.set_axis(pd.MultiIndex.from_arrays(columns, names=_KEY))


def compared(
    first: pd.DataFrame, second: pd.DataFrame, id_field: str, truths: Sequence[str], logs: str
) -> list[str]:
    """Raise `InputError` where joined rows are of different samples; return what differs.

    Hashes must be the same in each joined row; truths too, unless the other log has other labels,
    as those of the right action. Of other fields those tell that name each sample and stand under
    other ids, unless another one of these agrees. `id_field` is that of the contexts.
    """
    ours, theirs = (_samples(rows, id_field, truths) for rows in (first, second))
    names = sorted(ours.columns.intersection(theirs.columns), key=lambda name: name != HASH)
    one, other = ours[names].align(theirs[names], join="inner", axis=0)
    unlike = (one != other) & one.notna() & other.notna()
    differ = [name for name in names if unlike[name].any()]
    tell = [name for name in names if name not in differ and one[name].nunique() > 1]
    own = {name for name in names if _identifies(ours[name]) and _identifies(theirs[name])}
    of = f"{counted(len(one), 'joined answer')} of {logs}"
    for name in differ:
        moved = other[name][unlike[name]].isin(ours[name]).any()
        wrong = name == HASH or (moved and name in own and own.isdisjoint(tell))
        if name in truths:
            wrong = theirs[name].isin(ours[name].dropna()).any()
        if wrong:
            key = unlike.index[unlike[name]][0]
            sides = [_with_keys(side).loc[[key]].iloc[0] for side in (first, second)]
            shown = " and ".join(repr(str(side[RECORD].get(name))[:60]) for side in sides)
            by = (each for each in names if each in own or each == HASH)
            agree = next((each for each in by if _joins(each, name, ours, theirs)), None)
            remedy = "Ids must name the same samples in both: name one that does, --context FIELD"
            if agree is not None:
                remedy = f"All values of {agree} are there under other ids: "
                remedy += f"{typed_option('--context', agree)} joins by them"
            raise InputError(
                f"{unlike[name].sum()} of {of} differ in {name}, the first is {id_field} "
                f"{sides[0]['context']!r}: {shown}. {remedy}; or if {name} need not agree, name "
                "what came true: --truth FIELD."
            )
    # Of labels that are others in both logs nothing can be said.
    noted = [f"{name} ({unlike[name].sum()})" for name in differ if name not in truths]
    notes = [f"of {of} these differ: {listing(noted)}"] if noted else []
    if len(one) and not tell:
        alone = "nothing else shows that equal ids are equal samples"
        notes.append(f"{logs} were joined by {id_field} alone: {alone}")
    return notes


def _samples(answers: pd.DataFrame, id_field: str, truths: Sequence[str]) -> pd.DataFrame:
    """Return what a log says of samples; blanks, case and Unicode form do not count."""
    keyed = _with_keys(answers)
    said = [
        {
            name: folded(value)
            for name, value in record.items()
            if value not in (None, "") and name != id_field
            if _OF_SAMPLES.fullmatch(name) or name in truths
        }
        for record in keyed[RECORD]
    ]
    samples = pd.DataFrame(said, keyed.index, dtype=object)
    return samples[~samples.index.duplicated()]  # of several prompts


def _identifies(cells: "pd.Series[str]") -> bool:
    """Tell whether every context has a value of its own."""
    pairs = cells.rename("cell").reset_index("context")[["context", "cell"]].drop_duplicates()
    unique = all(pairs[name].notna().all() and pairs[name].is_unique for name in pairs)
    return unique and len(pairs) > 1


def _joins(by: str, name: str, ours: pd.DataFrame, theirs: pd.DataFrame) -> bool:
    """Tell whether rows that are joined by a field agree in one in which those of ids do not."""
    known = ours.drop_duplicates(by).set_index(by, drop=False)[name]
    cells, others = known.reindex(theirs[by]).to_numpy(), theirs[name].to_numpy()
    same = (pd.isna(cells) | pd.isna(others) | (cells == others)).all()
    return bool(same and theirs[by].isin(ours[by].dropna()).all())


def joined(beliefs: pd.DataFrame, actions: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Put actions onto the belief rows of the reference prompt, with notes on those alone."""
    reference = REFERENCE if REFERENCE in {*beliefs["prompt"]} else beliefs["prompt"][0]
    asks = beliefs["prompt"].map(lambda prompt: prompt == reference)  # others ask for it alone
    asked, chosen = _with_keys(beliefs[asks]), _with_keys(actions)
    alone, rest = (
        a.index.difference(b.index, sort=False) for a, b in ((asked, chosen), (chosen, asked))
    )
    notes = [
        f"{what} ({len(keys)}): " + listing(f"{key[2]} repetition {key[3]}" for key in keys)
        for keys, what in ((alone, "beliefs without an action"), (rest, "actions without a belief"))
        if len(keys)
    ]
    # Nothing joined at all is a wrong key, not a study with holes.
    if len(rest) == len(chosen) or any(rows["context"].isna().any() for rows in (beliefs, actions)):
        raise InputError(
            f"no answer of the action log belongs to one of the belief log, or some have no "
            f"context. {'; '.join(notes)}. Name what they share: --context FIELD."
        )
    every = asked.index.append(rest)
    one, other = asked.reindex(every), chosen.reindex(every)
    # Where both logs have a column, the belief log's value stands unless it is missing.
    rows = one.combine_first(other).reindex(every).assign(prompt=reference)
    # A belief that is missing is unparsed, and so is an action.
    pairs = (side["status"].fillna("unparsed") for side in (one, other))
    rows["status"] = [worst(pair) for pair in zip(*pairs, strict=True)]
    return filled(pd.concat([rows, beliefs[~asks]], ignore_index=True)), notes
