"""Former names of presets, methods and settings, which users may type and config.json of older runs contains."""

from typing import Any

PRESETS = {
    "geister-depth-limited": "geister-belief-search",
    "geister-depth-limited-quick": "geister-belief-search-quick",
    "mini-geister-depth-limited": "mini-geister-belief-tables",
}
METHODS = {"depth-limited": "belief-search", "value-net": "value-functions"}

SETTINGS = {
    "training.objective": "training.objective is gone: guandan-quick and guandan-strong train a policy, and presets of "
    "Deep Monte-Carlo values; choose the preset and leave the setting out",
}
"""Messages for settings that no longer exist."""

_VALUES_ALONE = ("epsilon", "teacher", "taught"), ("critic", "staleness", "staleness_floor")
_POLICY_ALONE = (
    ("start_temperature",),
    ("proposals", "ratio_clip", "value_weight", "entropy", "entropy_end", "learning_rate_end", "schedule"),
)
"""Settings, and those of ``training``, that had an effect with one ``training.objective`` alone."""

_POLICY_PRESETS = ("guandan-quick", "guandan-strong")


def with_current_names(info: dict[str, Any]) -> dict[str, Any]:
    """Returns the content of a config.json under the current names of its preset, method and settings."""
    preset, method = info["preset"], info["method"]
    info = info | {"preset": PRESETS.get(preset, preset), "method": METHODS.get(method, method)}
    return _updated_by_search(_split_by_objective(info))


def _updated_by_search(info: dict[str, Any]) -> dict[str, Any]:
    """Before there was a choice, each search of paper 002 saw the changes of those before it."""
    tables = info["config"].get("tables")
    if info["method"] != "belief-tables" or not isinstance(tables, dict):
        return info
    if tables.get("method", "depth-limited") != "depth-limited":  # the others have no searches
        return info
    return info | {"config": info["config"] | {"tables": {"updates": "search"} | tables}}


def _split_by_objective(info: dict[str, Any]) -> dict[str, Any]:
    """Policies over candidates were runs of ``dmc`` with an objective; the settings of the other one had no effect."""
    config = info["config"]
    training = config.get("training")
    if info["method"] != "dmc" or not isinstance(training, dict) or "objective" not in training:
        return info
    policy, preset = training["objective"] == "policy", info["preset"]
    if policy != (preset in _POLICY_PRESETS):
        preset = "guandan-quick" if policy else "guandan-dmc-quick"
    gone, gone_in_training = _VALUES_ALONE if policy else _POLICY_ALONE
    config = {key: value for key, value in config.items() if key not in gone}
    config["training"] = {k: v for k, v in training.items() if k not in (*gone_in_training, "objective")}
    method = "candidate-policy" if policy else "dmc"
    return info | {"preset": preset, "method": method, "config": config}
