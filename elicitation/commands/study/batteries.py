"""Batteries of a study: each put to every model by its own command, into a folder of its own."""

import argparse
import contextlib
import importlib
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from coherence.cli.folders import prepare_folder, replace_text
from coherence.cli.main import MODULES
from coherence.errors import CoherenceError
from elicitation.commands.study.names import file_stem
from elicitation.commands.study.options import keys_of, model_keys, parse
from elicitation.commands.study.running import Asked
from elicitation.commands.study.study_file import BatteryEntry, ModelEntry, Study
from elicitation.commands.study.units import STORE, digest_of

BATTERIES = "batteries"
_INTERRUPTED = 130


@dataclass(frozen=True)
class BatteryUnit:
    """One battery put to one model."""

    battery: BatteryEntry  # what is asked
    model: ModelEntry  # who is asked
    study_folder: Path  # folder of the study

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.model.name}, {self.battery.name}"

    @property
    def folder(self) -> Path:
        """Where its tables and report lie."""
        return self.study_folder / BATTERIES / file_stem(self.battery.name, self.model.name)

    @property
    def record(self) -> Path:
        """Where it is written down that it is finished."""
        return Path(f"{self.folder}.json")

    def options(self) -> argparse.Namespace:
        """Return the options of its command: what it takes of the model's, and the battery's."""
        taken = set(keys_of(self.battery.command)) & set(model_keys())
        own = {key: value for key, value in self.model.options.items() if key in taken}
        options = parse(self.battery.command, {**own, **self.battery.options})
        options.out, options.store = str(self.folder), str(self.study_folder / STORE)
        return options

    def digest(self) -> str:
        """Return a text that stands for all that its tables are made from."""
        return digest_of(self.options(), ())

    @property
    def is_finished(self) -> bool:
        """Whether its tables are there, made from what the file says now."""
        try:
            return bool(json.loads(self.record.read_text(encoding="utf-8")) == self.digest())
        except (OSError, ValueError):
            return False


def battery_units(study: Study, folder: Path) -> list[BatteryUnit]:
    """Return every battery with every model that it is put to; simulated agents answer none.

    A battery asks in its own way: two entries that differ in nothing that it heeds are one, and the
    first of them stands for both.
    """
    units: dict[tuple[str, str], BatteryUnit] = {}
    for battery in study.batteries:
        for model in study.models:
            chosen = battery.models is None or model.name in battery.models
            if chosen and not model.is_agent:
                unit = BatteryUnit(battery, model, folder)
                units.setdefault((battery.name, unit.digest()), unit)
    return list(units.values())


def ask_batteries(units: list[BatteryUnit], done: Asked) -> None:
    """Put every battery that is not finished to its model."""
    for unit in units:
        if unit.is_finished:
            done.found += 1
            continue
        prepare_folder(unit.folder)
        module = importlib.import_module(MODULES[unit.battery.command])
        # What the command would print belongs to its tables, not between those of other units.
        summary = unit.folder / "summary.txt"
        try:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                status = module.run(unit.options())
        except CoherenceError as error:
            done.failures.append((unit.label, str(error)))
            continue
        if status == _INTERRUPTED:
            raise KeyboardInterrupt
        replace_text(summary, said.getvalue())
        replace_text(unit.record, json.dumps(unit.digest()) + "\n")
        done.finished += 1
        print(f"{unit.label}: {unit.folder}", file=sys.stderr)
