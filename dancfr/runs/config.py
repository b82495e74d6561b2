"""Configurations: frozen pydantic models, `key=value` overrides, and errors of one line."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeGuard, TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from dancfr.errors import UsageError, nearest
from dancfr.runs import renamed
from dancfr.values import describe_type, guess, parse_value, show


class Config(BaseModel):
    """Base of every configuration: complete, frozen, without unknown keys or NaN.

    Attributes:
        resumable: Keys (or groups of keys) that may differ when a run is resumed, because they do not change the
            meaning of the iterations already done.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)
    resumable: ClassVar[frozenset[str]] = frozenset({"iterations"})

    @classmethod
    def from_json(cls, data: Any, source: str, ignore_unknown: bool = False) -> Self:
        """Reads a configuration that `model_dump(mode="json")` has returned.

        Args:
            data: The configuration as JSON.
            source: Source of the data, for errors.
            ignore_unknown: Ignore unknown keys instead of rejecting them.

        Raises:
            UsageError: the data does not fit this class.
        """
        try:
            return cls.model_validate_json(json.dumps(data), extra="ignore" if ignore_unknown else "forbid")
        except ValidationError as error:
            problems = [_explain(problem, cls) for problem in error.errors()]
            raise UsageError(f"{source} does not fit this version of dancfr: {_first(problems)}") from None

    @classmethod
    def owners(cls, key: str) -> list[str]:
        """Returns the names of other configurations that have a dotted key, for errors."""
        return []

    def check(self) -> None:
        """Performs checks that need more than the values of keys, such as those of a game's options.

        Raises:
            UsageError: the configuration is not valid.
        """

    def base_for(self, changes: Mapping[str, Any]) -> Self:
        """Returns the configuration that changes (by top-level key) apply to, without settings that they invalidate."""
        return self


AnyConfig = TypeVar("AnyConfig", bound=Config)


def apply_overrides(config: AnyConfig, overrides: Sequence[str]) -> AnyConfig:
    """Returns a copy of `config` with `key=value` settings applied, such as ``iterations=5`` or ``net.width=64``.

    Raises:
        UsageError: a key does not exist, or a value has another type or is out of bounds. The message describes the
            first problem and has the number of further ones.
    """
    problems: list[str] = []
    changes: list[tuple[list[str], Any]] = []
    for override in overrides:
        key, equals, text = (part.strip() for part in override.partition("="))
        if not equals or not key:
            problems.append(f"{override!r} is not a setting: write key=value, e.g. iterations=100")
            continue
        try:
            changes.append((key.split("."), _parse(type(config), key, text)))
        except ValueError as error:
            problems.append(str(error))
    data = config.base_for({path[0]: value for path, value in changes if len(path) == 1}).model_dump()
    for (*groups, name), value in changes:
        group = data
        for part in groups:
            group = group[part]
        group[name] = value
    try:
        changed = type(config).model_validate(data)
    except ValidationError as error:
        problems += [_explain(problem, type(config)) for problem in error.errors()]
    if problems:
        raise UsageError(_first(problems))
    return changed


def differences(old: AnyConfig, new: AnyConfig) -> dict[str, tuple[Any, Any]]:
    """Returns (old, new) values by dotted key, for all keys whose values differ."""
    after = dict(flatten(new))
    return {key: (was, after[key]) for key, was in flatten(old) if was != after[key]}


def describe_differences(old: AnyConfig, new: AnyConfig) -> list[str]:
    """Formats `differences` as lines: ``["net.width: 64 -> 128"]``."""
    return [f"{key}: {show(was)} -> {show(now)}" for key, (was, now) in differences(old, new).items()]


def refuse_changes(old: AnyConfig, new: AnyConfig, allowing: bool = True) -> None:
    """Checks that a run is resumed with the configuration it was started with, except for `old.resumable`.

    Args:
        old: The configuration that the run was started with.
        new: The configuration that it is to continue with.
        allowing: Whether the command has --allow-changes, which the error then names.

    Raises:
        UsageError: another key differs.
    """
    lines = zip(differences(old, new), describe_differences(old, new), strict=True)
    changed = [line for key, line in lines if not is_among(key, old.resumable)]
    if changed:
        said = f"a resumed run keeps its configuration, and this would change {changed[0]}{more(len(changed) - 1)}"
        if not allowing:
            raise UsageError(f"{said}: leave the setting out, or choose another folder")
        raise UsageError(
            f"{said}: leave the setting out, start a new run, or add --allow-changes (without it, only "
            f"{', '.join(sorted(old.resumable))} may change)"
        )


def is_among(key: str, groups: Iterable[str]) -> bool:
    """Whether a dotted key is one of the keys, or belongs to one of the groups."""
    return any(key == group or key.startswith(group + ".") for group in groups)


def flatten(config: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields all (dotted key, value) pairs of a configuration in order."""
    for name in type(config).model_fields:
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def keys_of(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Every dotted key of a class of configurations."""
    for name, field in model.model_fields.items():
        if _is_group(field.annotation):
            yield from keys_of(field.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _is_group(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _parse(model: type[BaseModel], key: str, text: str) -> Any:
    """Parses the value of a setting by the type of its key.

    Raises:
        ValueError: the key does not exist, or the text is not a value of its type.
    """
    annotation: Any = model
    path = key.split(".")
    for depth, part in enumerate(path):
        if get_origin(annotation) is dict and depth == len(path) - 1:  # free options, such as those of a game
            return guess(text)
        if not _is_group(annotation):
            raise ValueError(f"{'.'.join(path[:depth])} is a single value: there is no {key}")
        if part not in annotation.model_fields:
            raise ValueError(_unknown(model, key))
        annotation = annotation.model_fields[part].annotation
    if _is_group(annotation):
        keys = ", ".join(f"{key}.{name}" for name in list(annotation.model_fields)[:4])
        raise ValueError(f"{key} is a group of keys: set {keys}, ...")
    try:
        return parse_value(text, annotation)
    except ValueError:
        raise ValueError(f"{key} expects {describe_type(annotation)}, got {text!r}") from None


def _unknown(model: type[BaseModel], key: str) -> str:
    """Returns an error message that says where a former key went, or suggests one: with the same last part, or else the
    most similar one."""
    if key in renamed.SETTINGS:
        return renamed.SETTINGS[key]
    keys = list(keys_of(model))
    owners = model.owners(key) if issubclass(model, Config) else []
    elsewhere = f", which is one of {', '.join(owners)}" if owners else ""
    group, _, name = key.rpartition(".")
    same = [known for known in keys if known.rpartition(".")[2] == name]
    if same:
        return f"no key named {key!r}{elsewhere}; did you mean {' or '.join(same)}?"
    if owners:
        return f"no key named {key!r}{elsewhere}: dancfr presets NAME lists those of a preset"
    return nearest(key, [known for known in keys if group and known.rpartition(".")[0] == group] or keys, "key")


_BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
    "multiple_of": ("multiple_of", "a multiple of"),
}


def _explain(problem: Any, model: type[BaseModel]) -> str:
    """Describes a problem found by pydantic in one line."""
    key, kind, context = ".".join(map(str, problem["loc"])), problem["type"], problem.get("ctx", {})
    given = show(problem["input"])
    given = given if len(given) <= 60 else given[:57] + "..."
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"{key} must be {words} {context[name]}, got {given}"
    if kind == "extra_forbidden":
        return _unknown(model, key)
    if kind == "missing":
        return f"{key} is missing"
    if kind == "value_error":
        message = str(context.get("error", problem["msg"]))
        return message if not key or key in message else f"{key}: {message}"
    if kind == "finite_number":
        return f"{key} must be a finite number, got {given}"
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{key or 'the configuration'}: {message}, got {given}".replace("\n", " ")


def more(count: int, what: str = "more") -> str:
    """The end of a message that names the first of several things."""
    return f" (and {count} {what})" if count > 0 else ""


def _first(problems: Sequence[str]) -> str:
    others = len(problems) - 1
    return problems[0] + more(others, "more error" if others == 1 else "more errors")
