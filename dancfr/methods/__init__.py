"""The registry of methods: those of this package, and those of installed packages (entry point ``dancfr.methods``)."""

from functools import cache

from dancfr.errors import UsageError, nearest
from dancfr.extensions import load_extensions
from dancfr.methods.belief_tables import METHOD as BELIEF_TABLES
from dancfr.methods.best_response import METHOD as BEST_RESPONSE
from dancfr.methods.cheat_cfr import METHOD as CHEAT_CFR
from dancfr.methods.depth_limited import METHOD as DEPTH_LIMITED
from dancfr.methods.dmc import METHOD as DMC
from dancfr.methods.dream import METHOD as DREAM
from dancfr.methods.method import Method, Preset
from dancfr.methods.policy_gradient import METHOD as POLICY_GRADIENT
from dancfr.methods.value_net import METHOD as VALUE_NET

OWN = (DREAM, POLICY_GRADIENT, DEPTH_LIMITED, BELIEF_TABLES, CHEAT_CFR, VALUE_NET, DMC, BEST_RESPONSE)
"""The methods of this package."""


@cache
def all_methods() -> dict[str, Method]:
    """Returns all methods by name: those of this package, then those of installed packages.

    Raises:
        UsageError: an installed package registers an object that is not a `Method`, or a name or preset that exists
            already.
    """
    methods = {method.name: method for method in OWN}
    presets = {preset.name for method in OWN for preset in method.presets}
    for source, method in load_extensions("dancfr.methods", Method):
        taken = presets & {preset.name for preset in method.presets}
        if method.name in methods or taken:
            name = method.name if method.name in methods else min(taken)
            raise UsageError(f"{source} registers the method {method.name}, but {name} exists already: rename it")
        methods[method.name] = method
        presets |= {preset.name for preset in method.presets}
    return methods


def method_named(name: str) -> Method:
    """Returns the method with a name.

    Raises:
        UsageError: the method does not exist; the message suggests the closest name.
    """
    methods = all_methods()
    if name not in methods:
        raise UsageError(nearest(name, list(methods), "method"))
    return methods[name]


def all_presets() -> dict[str, Preset]:
    """Returns the presets of all methods by name."""
    return {preset.name: preset for method in all_methods().values() for preset in method.presets}


def find_preset(name: str) -> Preset:
    """Returns the preset with a name.

    Raises:
        UsageError: the preset does not exist; the message suggests the closest name.
    """
    presets = all_presets()
    if name not in presets:
        raise UsageError(nearest(name, list(presets), "preset"))
    return presets[name]


def method_of(preset: Preset) -> Method:
    """Returns the method that a preset belongs to."""
    return next(method for method in all_methods().values() if preset in method.presets)


__all__ = ["Method", "Preset", "all_methods", "all_presets", "find_preset", "method_named", "method_of"]
