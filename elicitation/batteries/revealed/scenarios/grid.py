"""The grid of settings, and any part of it."""

from collections.abc import Collection, Mapping, Sequence

from coherence.errors import InputError, closest
from elicitation.batteries.revealed.scenarios import choice, coins, dice, preference
from elicitation.batteries.revealed.scenarios.setting import Decomposition, Setting


def standard_grid(
    *,
    n_dice: Sequence[int] = (1, 2, 3),
    faces: Sequence[int] = (4, 6, 8, 10, 12),
    n_coins: Sequence[int] = (2, 3),
    coin_biases: Sequence[int] = (1, 3, 5),
    n_options: Sequence[int] = (2, 4, 6),
    labels: Sequence[tuple[str, str]] = preference.PAIRS,
    label_biases: Sequence[int] = (1, 2, 3),
) -> list[Setting]:
    """Return dice, coins, choices and preferences in all their variants.

    With the defaults 852: 705 of dice, 96 of coins, 15 choices, 36 preferences. A bias says how
    many times as likely the counted face, or the first of two labels, is.
    """
    return [
        *dice.grid(n_dice, faces),
        *coins.grid(n_coins, coin_biases),
        *choice.grid(n_options),
        *preference.grid(labels, label_biases),
    ]


def select(settings: Sequence[Setting], where: Mapping[str, Collection[str]]) -> list[Setting]:
    """Select settings by their scenario, variant, group, name or parameters."""
    properties = [
        {
            "scenario": setting.scenario,
            "variant": setting.variant,
            "group": setting.group,
            "name": setting.name,
            **setting.parameters,
        }
        for setting in settings
    ]
    for name, values in where.items():
        known = {named[name]: None for named in properties if name in named}
        if not known:
            names = dict.fromkeys(name for named in properties for name in named)
            raise InputError(f"settings have no property {name!r}. {closest(name, names)}")
        for value in values:
            if value not in known:
                raise InputError(f"no setting has {name} {value!r}. {closest(value, known)}")
    # A property that a setting lacks has the value None, which nobody asks for.
    kept = [
        setting
        for setting, named in zip(settings, properties, strict=True)
        if all(named.get(name) in values for name, values in where.items())
    ]
    if not kept:
        raise InputError("no setting agrees with all conditions at once. Leave one out.")
    return kept


def in_between(settings: Sequence[Setting]) -> list[Setting]:
    """Return single rolls and flips between those of a list, for `decompositions` to take apart."""
    values: dict[tuple[str, int, str], list[int]] = {}
    for setting in _wholes(settings):
        parameters = setting.parameters
        key = (setting.scenario, int(parameters["n"]), parameters.get("side", ""))
        value = parameters["faces" if setting.scenario == "dice" else "bias"]
        values.setdefault(key, []).append(int(value))
    between = [
        dice.setting(n, value) if scenario == "dice" else coins.setting(n, side, value)
        for (scenario, n, side), known in values.items()
        for value in range(min(known), max(known) + 1, max(1, (max(known) - min(known)) // 8))
    ]
    names = {setting.name for setting in settings}
    return [setting for setting in between if setting.name not in names]


def decompositions(settings: Sequence[Setting]) -> list[Decomposition]:
    """Take single rolls or flips of two or more dice or coins apart by the first of them."""
    return [
        dice.decompose(int(parameters["n"]), int(parameters["faces"]))
        if setting.scenario == "dice"
        else coins.decompose(int(parameters["n"]), parameters["side"], int(parameters["bias"]))
        for setting in _wholes(settings)
        for parameters in [setting.parameters]
    ]


def _wholes(settings: Sequence[Setting]) -> list[Setting]:
    singles = [
        setting
        for setting in settings
        if setting.scenario in ("dice", "coins") and setting.variant == "single"
    ]
    heads = {_coins(setting) for setting in singles if _counts(setting, "heads")}
    # Heads and tails of the same coins are one experiment: what is wrong with one belief is wrong
    # with the other, and they would count twice.
    return [
        setting
        for setting in singles
        if int(setting.parameters["n"]) > 1
        and not (_counts(setting, "tails") and _coins(setting) in heads)
    ]


def _counts(setting: Setting, side: str) -> bool:
    return setting.parameters.get("side") == side


def _coins(setting: Setting) -> tuple[str, str]:
    return setting.parameters["n"], setting.parameters["bias"]
