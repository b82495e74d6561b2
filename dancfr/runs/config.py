"""Typed configuration: frozen pydantic models, `key=value` overrides, one-line errors."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from dancfr.errors import UsageError, nearest
from dancfr.values import describe_type, guess, parse_value, show


class Config(BaseModel):
    """Base of every configuration: complete, frozen, no unknown keys, no NaN.

    Attributes:
        resumable: Keys (or groups of keys) which may differ when a run is resumed, since they do not change
            what the iterations already done mean.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)
    resumable: ClassVar[frozenset[str]] = frozenset({"iterations"})

    @classmethod
    def from_json(cls, data: Any, source: str) -> Self:
        """The configuration that `model_dump(mode="json")` gave.

        Raises:
            UsageError: it does not fit this class; the message names `source`.
        """
        try:
            return cls.model_validate_json(json.dumps(data))
        except ValidationError as error:
            problems = [_explain(problem, cls, ()) for problem in error.errors()]
            raise UsageError(f"{source} does not fit this version of dancfr: {_first(problems)}") from None

    def check(self) -> None:
        """Checks that need more than the keys alone, a game's options for instance; made before a run starts.

        Raises:
            UsageError: the configuration cannot be run.
        """

    def base_for(self, changes: Mapping[str, Any]) -> Self:
        """What the given changes (by key of the top level) are applied to: without what they make meaningless."""
        return self


AnyConfig = TypeVar("AnyConfig", bound=Config)


class _Whole(dict[str, Any]):
    """Free options given as a whole: they replace those there were."""


class _Refused(Exception):
    """A value that cannot be read as the type of its key; says what is expected."""


@dataclass(frozen=True)
class _Setting:
    path: tuple[str, ...]
    text: str

    @property
    def key(self) -> str:
        return ".".join(self.path)


def apply_overrides(config: AnyConfig, overrides: Sequence[str]) -> AnyConfig:
    """A copy of `config` with `key=value` settings applied, such as ``iterations=5`` or ``net.width=64``.

    Raises:
        UsageError: unknown key (names the nearest), value of another type (says what is expected) or out of
            bounds (says the bound). The first problem is reported, with the number of further ones.
    """
    problems: list[str] = []
    tree: dict[str, Any] = {}
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key.strip():
            problems.append(f"{override!r} is not a setting; write key=value, e.g. iterations=100")
            continue
        setting = _Setting(tuple(key.strip().split(".")), text.strip())
        try:
            _place(tree, setting, _read(config, setting))
        except _Refused as refused:
            problems.append(str(refused))
    changed = _rebuild(config.base_for(tree), tree, (), problems)
    if problems:
        raise UsageError(_first(problems))
    return changed


def differences(old: Config, new: Config) -> dict[str, tuple[Any, Any]]:
    """Dotted key to (old, new) value for every key whose values differ; `<absent>` where there is none."""
    before, after = dict(flatten(old)), dict(flatten(new))
    absent = "<absent>"
    return {
        key: (before.get(key, absent), after.get(key, absent))
        for key in {**before, **after}
        if key not in before or key not in after or before[key] != after[key]
    }


def describe_differences(old: Config, new: Config) -> list[str]:
    """`differences` for people: ``["net.width: 64 -> 128"]``."""
    return [f"{key}: {show(was)} -> {show(now)}" for key, (was, now) in differences(old, new).items()]


def refuse_changes(old: Config, new: Config, allowed: Iterable[str] | None = None) -> None:
    """Lets a run be resumed only under the configuration it was started with; a longer run is no change.

    Args:
        old: What the run was started with.
        new: What it shall go on with.
        allowed: Keys or groups that may differ; `old.resumable` if None.

    Raises:
        UsageError: another key differs.
    """
    allowed = old.resumable if allowed is None else frozenset(allowed)
    changed = [
        line
        for key, line in zip(differences(old, new), describe_differences(old, new), strict=True)
        if not any(key == free or key.startswith(free + ".") for free in allowed)
    ]
    if changed:
        raise UsageError(
            f"a resumed run keeps its configuration, but {changed[0]}{_more(len(changed) - 1)}; "
            f"leave the setting out, start a new run, or mean it and say --allow-changes "
            f"(only {', '.join(sorted(allowed))} may change without)"
        )


def flatten(config: BaseModel, prefix: str = "") -> Iterable[tuple[str, Any]]:
    """All (dotted key, value) pairs of a configuration in order."""
    for name in type(config).model_fields:
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _read(root: BaseModel, setting: _Setting) -> Any:
    """The typed value of one setting.

    Raises:
        _Refused: no such key, or text that is no value of its type.
    """
    current: Any = root
    for depth, part in enumerate(setting.path):
        before = ".".join(setting.path[:depth])
        if isinstance(current, Mapping):  # free options, such as those of a game
            return guess(setting.text)
        if not isinstance(current, BaseModel):
            raise _Refused(f"{before} is a single value: there is no {setting.key}")
        fields = type(current).model_fields
        if part not in fields:
            raise _Refused(_unknown(root, setting))
        annotation, current = fields[part].annotation, getattr(current, part)
    if isinstance(current, BaseModel):
        keys = ", ".join(f"{setting.key}.{name}" for name in list(type(current).model_fields)[:4])
        raise _Refused(f"{setting.key} is a group of keys: set {keys}, ...")
    try:
        return parse_value(setting.text, annotation)
    except ValueError:
        expected = describe_type(annotation)
        raise _Refused(f"{setting.key} expects {expected}, not {setting.text!r}") from None


def _unknown(root: BaseModel, setting: _Setting) -> str:
    """Names the key that was probably meant: of the same last part in some group, else the most similar."""
    keys = [key for key, _ in flatten(root)]
    same = [key for key in keys if key.split(".")[-1] == setting.path[-1]]
    if same:
        return f"no key named {setting.key!r}; did you mean {' or '.join(same)}?"
    return nearest(setting.key, keys, "key")


def _place(tree: dict[str, Any], setting: _Setting, value: Any) -> None:
    branch = tree
    for part in setting.path[:-1]:
        branch = branch.setdefault(part, {})
        if not isinstance(branch, dict):
            raise _Refused(f"{setting.key} is set twice in different ways")
    branch[setting.path[-1]] = _Whole(value) if isinstance(value, dict) else value


def _rebuild(config: Any, tree: Mapping[str, Any], path: tuple[str, ...], problems: list[str]) -> Any:
    """A validated copy of `config` with the values of `tree`; on failure `config`, and adds to `problems`."""
    if not tree:
        return config
    if isinstance(config, Mapping):
        return {**config, **tree}
    values = {name: getattr(config, name) for name in type(config).model_fields}
    for name, value in tree.items():
        if isinstance(value, _Whole):
            value = dict(value)
        elif isinstance(values[name], (BaseModel, Mapping)) and isinstance(value, dict):
            value = _rebuild(values[name], value, (*path, name), problems)
        values[name] = value
    try:
        return type(config).model_validate(values)
    except ValidationError as error:
        problems.extend(_explain(problem, type(config), path) for problem in error.errors())
        return config


_BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
    "multiple_of": ("multiple_of", "a multiple of"),
}


def _explain(problem: Any, model: type[BaseModel], path: tuple[str, ...]) -> str:
    """One problem that pydantic found, as one line in the user's terms."""
    where = [*path, *(str(part) for part in problem["loc"])]
    key, kind, context = ".".join(where), problem["type"], problem.get("ctx", {})
    given = show(problem["input"])
    given = given if len(given) <= 60 else given[:57] + "..."
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"{key} must be {words} {context[name]}, not {given}"
    if kind == "extra_forbidden":
        return nearest(key, list(_known(model, problem["loc"])), "key")
    if kind == "missing":
        return f"{key} is missing"
    if kind == "value_error":
        message = str(context.get("error", problem["msg"]))
        return message if not key or key in message else f"{key}: {message}"
    if kind == "finite_number":
        return f"{key} must be a finite number, not {given}"
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{key or 'the configuration'}: {message}, not {given}".replace("\n", " ")


def _known(model: type[BaseModel], location: Sequence[Any]) -> Iterable[str]:
    """Names of the keys beside the one at `location`, with their prefix."""
    prefix = ""
    for part in location[:-1]:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return
        model, prefix = annotation, f"{prefix}{part}."
    yield from (prefix + name for name in model.model_fields)


def _more(count: int) -> str:
    return f" (and {count} more)" if count > 0 else ""


def _first(problems: Sequence[str]) -> str:
    return problems[0] + _more(len(problems) - 1)
