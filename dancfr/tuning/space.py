"""The space of a search: a TOML file with the range or the choices of each setting.

    "training.learning_rate" = {low = 1e-4, high = 1e-2, log = true}
    "network.width" = {choices = [64, 128]}
    "training.epochs" = {low = 1, high = 4}

Every extreme value is checked against the configuration before the first training.
"""

import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

from pydantic import BaseModel, Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError, model_validator

from dancfr.errors import UsageError, reason
from dancfr.methods.settings import RunConfig
from dancfr.runs.config import Config, apply_overrides, is_among
from dancfr.values import show

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Value = StrictBool | StrictInt | StrictFloat | StrictStr
Settings = Mapping[str, Any]

FIXED = {
    "seed": "the seeds of a search are given by --seeds",
    "iterations": "trials have the same budget",
    "minutes": "trials have the same budget",
    "samples": "trials have the same budget",
    "game": "trials are compared in the same game",
    "game_options": "trials are compared in the same game",
    "evaluation": "trials are compared by the same evaluation",
}
"""Settings, or groups of them, that a space must not contain, with the reason."""

MOST_CORNERS = 512
"""Combinations of extreme values that are checked at most."""


class Choices(Config):
    """A setting that takes one of some values; text is read as on the command line.

    Attributes:
        choices: The values.
    """

    choices: tuple[Value, ...]

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if len(self.choices) < 2:
            raise ValueError("choices must be two values or more")
        if len(set(self.choices)) < len(self.choices):
            raise ValueError("a choice occurs twice")
        return self

    @property
    def extremes(self) -> tuple[Any, ...]:
        """All values."""
        return self.choices

    def distribution(self) -> "BaseDistribution":
        """Returns the distribution of Optuna."""
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.choices)

    def settle(self, value: Any) -> Any:
        """Returns a value of the distribution as it is trained with."""
        return value


class Range(Config):
    """A setting that takes numbers between two bounds, which belong to the range.

    Attributes:
        low, high: The bounds.
        log: Draw the logarithm uniformly, for settings whose order of magnitude is unknown.
        step: Distance between the values; None: 1 for integers, else any values.
        whole: Integers only; in the file, ``int``. None: if both bounds are integers, unless the setting takes others.
    """

    low: StrictInt | StrictFloat
    high: StrictInt | StrictFloat
    log: StrictBool = False
    step: StrictInt | StrictFloat | None = Field(None, gt=0)
    whole: StrictBool | None = Field(None, alias="int")

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low must be less than high, got {self.low} and {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"low must be greater than 0 with log = true, got {self.low}")
        if self.log and self.step is not None:
            raise ValueError("log and step exclude each other: leave out one of them")
        numbers = [self.low, self.high, *([] if self.step is None else [self.step])]
        if self.whole and not all(float(number).is_integer() for number in numbers):
            raise ValueError(f"bounds and step must be integers with int = true, got {', '.join(map(str, numbers))}")
        if self.step is not None:
            steps = (self.high - self.low) / self.step
            if abs(steps - round(steps)) > 1e-6:
                raise ValueError(
                    f"high must be low plus a number of steps, got {self.low}, {self.high} and {self.step}"
                )
        return self

    @property
    def integral(self) -> bool:
        """Whether all bounds are written as integers."""
        return all(isinstance(number, int) for number in (self.low, self.high, self.step or 1))

    def for_setting(self, key: str, kind: type[BaseModel]) -> Self:
        """Returns the range with `whole` decided by the type of its setting.

        Raises:
            ValueError: the setting takes integers, and the range has others.
        """
        takes = _types_of(kind, key)
        if int in takes and float not in takes and (self.whole is False or not (self.whole or self.integral)):
            raise ValueError("takes integers: write the bounds as integers, and leave out int = false")
        if self.whole is not None:
            return self
        return self.model_copy(update={"whole": self.integral and (float not in takes)})

    @property
    def extremes(self) -> tuple[Any, ...]:
        """Both bounds."""
        return (int(self.low), int(self.high)) if self.whole else (float(self.low), float(self.high))

    def distribution(self) -> "BaseDistribution":
        """Returns the distribution of Optuna."""
        from optuna.distributions import FloatDistribution, IntDistribution

        if self.whole:
            return IntDistribution(int(self.low), int(self.high), log=self.log, step=int(self.step or 1))
        step = None if self.step is None else float(self.step)
        return FloatDistribution(float(self.low), float(self.high), log=self.log, step=step)

    def settle(self, value: Any) -> Any:
        """Returns a value of the distribution as it is trained with.

        It has few digits, so that people can copy it: four, and more where the range is narrow or has steps.
        """
        if self.whole:
            return int(value)
        low, high = self.extremes
        apart = float(self.step) if self.step is not None else high - low
        digits = 4 + max(0, math.floor(math.log10(max(abs(low), abs(high)) / apart)))
        return min(max(float(f"{value:.{digits}g}"), low), high)


Dimension = Range | Choices


class Space:
    """The settings of a search.

    Args:
        dimensions: Range or choices of each setting, by its dotted key.
        source: Name of the file, for errors.

    Attributes:
        dimensions: As given.
    """

    def __init__(self, dimensions: Mapping[str, Dimension], source: str) -> None:
        self.dimensions, self._source = dict(dimensions), source

    @classmethod
    def read(cls, path: Path, kind: type[RunConfig]) -> Self:
        """Reads a file.

        Args:
            path: The file.
            kind: Class of the preset's configuration.

        Raises:
            UsageError: the file cannot be read, is not TOML, or an entry is not a range or choices.
        """
        try:
            content = dict(_entries(tomllib.loads(path.read_text())))
        except OSError as error:
            raise UsageError(f"cannot read {path}: {reason(error)}") from None
        except ValueError as error:
            raise UsageError(f"{path} is not TOML: {error}") from None
        except RecursionError:
            raise UsageError(f"{path} is nested too deeply: write one setting a line") from None
        return cls.of(content, str(path), kind)

    @classmethod
    def of(cls, entries: Mapping[str, Any], source: str, kind: type[RunConfig]) -> Self:
        """Returns the space of the entries of a file, see `read`."""
        if not entries:
            raise UsageError(f'{source} names no setting: add a line such as "network.width" = {{choices = [64, 128]}}')
        dimensions: dict[str, Dimension] = {}
        for key, entry in entries.items():
            if (group := next((fixed for fixed in FIXED if is_among(key, [fixed])), None)) is not None:
                raise UsageError(f"{source}: {key} cannot be searched: {FIXED[group]}")
            try:
                dimensions[key] = _dimension(key, entry, kind)
                _ = dimensions[key].extremes  # numbers that a float cannot hold raise here
            except ValueError as error:
                raise UsageError(f"{source}: {key}: {error}") from None
            except OverflowError:
                raise UsageError(f"{source}: {key}: a number is too large, or the step too small") from None
        return cls(dimensions, source)

    def as_json(self) -> dict[str, Any]:
        """Returns the entries, as a file of this space has them."""
        return {
            key: each.model_dump(mode="json", by_alias=True, exclude_none=True) for key, each in self.dimensions.items()
        }

    def check(self, config: RunConfig) -> None:
        """Checks that the configuration accepts every extreme value, alone and together with those of other settings.

        Raises:
            UsageError: it does not; the message names the setting.
        """
        for key, dimension in self.dimensions.items():
            for value in dimension.extremes:
                self._check({key: value}, config, key)
        corners = itertools.product(*(dimension.extremes for dimension in self.dimensions.values()))
        for corner in itertools.islice(corners, MOST_CORNERS):
            self._check(dict(zip(self.dimensions, corner, strict=True)), config)

    def _check(self, settings: Settings, config: RunConfig, key: str | None = None) -> None:
        """Checks settings; those of a single `key` are checked with the game and its agents, too."""
        try:
            changed = apply_overrides(config, overrides(settings))
            if key is not None:
                changed.check()
        except UsageError as error:
            raise UsageError(f"{self._source}: {' '.join(overrides(settings))}: {error}") from None

    def distributions(self) -> dict[str, "BaseDistribution"]:
        """Returns the distributions of Optuna by setting."""
        return {key: dimension.distribution() for key, dimension in self.dimensions.items()}

    def settings(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the settings that a trial with the parameters of Optuna trains with."""
        return {key: dimension.settle(parameters[key]) for key, dimension in self.dimensions.items()}


def overrides(settings: Settings) -> tuple[str, ...]:
    """Returns settings as ``key=value``."""
    return tuple(f"{key}={show(value)}" for key, value in settings.items())


def _entries(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the entries of a file, whose keys may be quoted or nested tables."""
    for key, value in table.items():
        if isinstance(value, dict) and value and all(isinstance(inner, dict) for inner in value.values()):
            yield from _entries(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _dimension(key: str, entry: Any, kind: type[RunConfig]) -> Dimension:
    """Returns the range or the choices of an entry.

    Raises:
        ValueError: it is neither.
    """
    if not isinstance(entry, dict):
        raise ValueError("write a range, {low = 1e-4, high = 1e-2}, or choices, {choices = [64, 128]}")
    if "choices" in entry and len(entry) > 1:
        raise ValueError("write a range or choices, not both")
    try:
        if "choices" in entry:
            return Choices.model_validate(entry)
        return Range.model_validate(entry).for_setting(key, kind)
    except ValidationError as error:
        raise ValueError(_explain(error.errors())) from None


def _explain(problems: Sequence[Any]) -> str:
    """Describes the first problem that pydantic has found."""
    problem = problems[0]
    name = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "extra_forbidden":
        return f"{name} is not known here: a range has low, high, log, step and int"
    if problem["type"] == "missing":
        return f"{name} is missing"
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    if name == "choices":
        return "choices must be a list of finite numbers, truth values or text, such as [64, 128]"
    if name in ("low", "high", "step") and problem["type"] != "greater_than":
        return f"{name} must be a finite number, and without quotes"
    if problem["type"] == "bool_type":
        return f"{name} must be true or false, without quotes"
    message = problem["msg"]
    return f"{name}: {message[:1].lower()}{message[1:]}, got {show(problem['input'])}"


def _types_of(kind: type[BaseModel], key: str) -> set[Any]:
    """Returns the types that a setting takes; empty if it has none, as the free options of a game."""
    annotation: Any = kind
    for part in key.split("."):
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return set()
        if part not in annotation.model_fields:
            return set()
        annotation = annotation.model_fields[part].annotation
    return {annotation, *get_args(annotation)}
