"""The registry of methods: those of this package, and those of installed packages (entry point ``dancfr.methods``)."""

import os
from functools import cache

from dancfr.errors import UsageError, nearest, warn
from dancfr.extensions import METHOD_GROUP, load_extensions
from dancfr.games.registry import all_games
from dancfr.methods.belief_search import METHOD as BELIEF_SEARCH
from dancfr.methods.belief_tables import METHOD as BELIEF_TABLES
from dancfr.methods.best_response import METHOD as BEST_RESPONSE
from dancfr.methods.candidate_policy import METHOD as CANDIDATE_POLICY
from dancfr.methods.cheat_cfr import METHOD as CHEAT_CFR
from dancfr.methods.curves import Curves
from dancfr.methods.dmc import METHOD as DMC
from dancfr.methods.dream import METHOD as DREAM
from dancfr.methods.method import Method, Preset
from dancfr.methods.policy_gradient import METHOD as POLICY_GRADIENT
from dancfr.methods.settings import RunConfig
from dancfr.methods.value_functions import METHOD as VALUE_FUNCTIONS
from dancfr.runs import renamed
from dancfr.watch.progress import Speed

OWN = (
    DREAM,
    POLICY_GRADIENT,
    BELIEF_SEARCH,
    BELIEF_TABLES,
    CHEAT_CFR,
    VALUE_FUNCTIONS,
    DMC,
    CANDIDATE_POLICY,
    BEST_RESPONSE,
)
"""The methods of this package."""


@cache
def all_methods() -> dict[str, Method]:
    """Returns all methods by name: those of this package, then those of installed packages.

    Objects of packages that are not a `Method`, methods with a wrong part, and those whose name or preset exists
    already are left out with a warning.
    """
    methods = {method.name: method for method in OWN}
    presets = {preset.name for method in OWN for preset in method.presets}

    def add(method: Method) -> str | None:
        if wrong := _wrong_part(method):
            return f"registers a method whose {wrong}"
        names = [preset.name for preset in method.presets]
        taken = {name for name in names if name in presets or names.count(name) > 1}
        if method.name in methods or taken:
            name = method.name if method.name in methods else min(taken)
            return f"registers the method {method.name}, but {name} exists already"
        methods[method.name] = method
        presets.update(names)
        return None

    load_extensions(METHOD_GROUP, Method, add)
    return methods


def _wrong_part(method: Method) -> str | None:
    """Returns the first fault of a record, as part of a sentence; None if it is valid."""
    if not isinstance(method.name, str) or not method.name:
        return "name is not a text"
    if not isinstance(method.config, type) or not issubclass(method.config, RunConfig):
        return "config is not a subclass of RunConfig"
    for part in ("train", "load_agent"):
        if not callable(getattr(method, part)):
            return f"{part} is not a function"
    if not isinstance(method.speed, Speed) or not isinstance(method.curves, Curves):
        return "speed is not a Speed, or its curves are not Curves"
    presets = method.presets
    if not isinstance(presets, tuple) or not all(isinstance(preset, Preset) for preset in presets):
        return "presets are not a tuple of Preset"
    foreign = [preset.name for preset in presets if not isinstance(preset.config, method.config)]
    return f"preset {foreign[0]} has settings of another class than {method.config.__name__}" if foreign else None


def method_named(name: str) -> Method:
    """Returns the method with a name, or with a former one.

    Raises:
        UsageError: the method does not exist; the message suggests the closest name.
    """
    methods, name = all_methods(), renamed.METHODS.get(name, name)
    if name not in methods:
        raise UsageError(nearest(name, list(methods), "method"))
    return methods[name]


def all_presets() -> dict[str, Preset]:
    """Returns the presets of all methods by name."""
    return {preset.name: preset for method in all_methods().values() for preset in method.presets}


def find_preset(name: str) -> Preset:
    """Returns the preset with a name; warns if the name is a former one.

    Raises:
        UsageError: the preset does not exist; the message suggests the closest name.
    """
    presets = all_presets()
    if name in renamed.PRESETS:
        name = _renamed(name)
    if name not in presets:
        if name in all_games():
            own = [preset.name for preset in presets.values() if getattr(preset.config, "game", None) == name]
            cure = f"presets of it are {', '.join(own)}" if own else f"e.g. dancfr train leduc-dream game={name}"
            raise UsageError(f"{name} is a game, and a training needs a preset: {cure}")
        if os.path.exists(os.path.join(name, "config.json")):
            raise UsageError(
                f"{name} is a run, and a training needs a preset: dancfr train PRESET --run-dir {name} --resume"
            )
        raise UsageError(f"{nearest(name, list(presets), 'preset')} (dancfr presets lists all)")
    return presets[name]


@cache
def _renamed(name: str) -> str:
    """Returns the current name of a preset; warns once about the former one."""
    warn(f"the preset {name} is now called {renamed.PRESETS[name]}")
    return renamed.PRESETS[name]


def method_of(preset: Preset) -> Method:
    """Returns the method that a preset belongs to."""
    return next(method for method in all_methods().values() if preset in method.presets)


__all__ = ["Method", "Preset", "all_methods", "all_presets", "find_preset", "method_named", "method_of"]
