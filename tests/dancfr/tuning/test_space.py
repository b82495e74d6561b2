"""The space of a search: wrong files, the type of each setting, extremes that no preset accepts."""

from pathlib import Path

import pytest

from dancfr.errors import UsageError
from dancfr.methods import find_preset
from dancfr.tuning.space import Space, overrides

PRESET = find_preset("leduc-policy-gradient")


def read(tmp_path: Path, text: str, preset: str = PRESET.name) -> Space:
    path = tmp_path / "space.toml"
    path.write_text(text)
    config = find_preset(preset).config
    space = Space.read(path, type(config))
    space.check(config)  # type: ignore[arg-type]
    return space


def test_keys_may_be_quoted_or_tables(tmp_path: Path) -> None:
    quoted = read(tmp_path, '"network.width" = {choices = [64, 128]}\n"training.epochs" = {low = 1, high = 4}\n')
    tables = read(tmp_path, "[network]\nwidth = {choices = [64, 128]}\n[training.epochs]\nlow = 1\nhigh = 4\n")
    assert quoted.as_json() == tables.as_json()
    assert list(quoted.dimensions) == ["network.width", "training.epochs"]


def test_what_is_stored_is_read_again(tmp_path: Path) -> None:
    space = read(
        tmp_path,
        '"training.learning_rate" = {low = 1e-4, high = 1e-2, log = true}\n'
        "former = {low = 0, high = 1}\n"
        "games = {low = 256, high = 1024, step = 256}\n"
        '"network.norm" = {choices = ["none", "layer"]}\n',
    )
    again = Space.of(space.as_json(), "tune.json", type(PRESET.config))
    assert again.as_json() == space.as_json()
    assert again.distributions() == space.distributions()


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        ("games = {low = 100, high = 200}", (100, 200)),
        ("former = {low = 0, high = 1}", (0.0, 1.0)),  # integers, of a setting that takes others as well
        ("former = {low = 0, high = 1, int = true}", (0, 1)),
        ('"network.width" = {choices = [64, 128]}', (64, 128)),
        ("games = {low = 100.0, high = 200.0, int = true}", (100, 200)),
    ],
)
def test_numbers_are_of_the_type_of_their_setting(tmp_path: Path, entry: str, values: tuple[float, ...]) -> None:
    (dimension,) = read(tmp_path, entry).dimensions.values()
    assert dimension.extremes == values
    assert [type(value) for value in dimension.extremes] == [type(value) for value in values]


def test_values_are_rounded_within_their_bounds(tmp_path: Path) -> None:
    space = read(tmp_path, "former = {low = 0.123456, high = 0.543216}\n")
    drawn = (0.2345678, 0.1234567, 0.1234999, 0.5432159)
    assert [space.settings({"former": value})["former"] for value in drawn] == [0.2346, 0.1235, 0.1235, 0.5432]
    narrow = read(tmp_path, "former = {low = 0.123456, high = 0.123468}\n")
    assert narrow.settings({"former": 0.12346})["former"] == 0.12346
    steps = read(tmp_path, "former = {low = 0.1, high = 0.101, step = 0.0001}\n")
    assert steps.settings({"former": 0.1003})["former"] == 0.1003


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no setting"),
        ("x = [", "is not TOML"),
        ("games = 3", "games: write a range"),
        ("games = {}", "games: low is missing"),
        ("games = {low = 1}", "games: high is missing"),
        ("games = {low = 3, high = 3}", "games: low must be less than high, got 3 and 3"),
        ("games = {low = 1, high = 3, max = 4}", "games: max is not known here"),
        ("games = {low = 'a', high = 3}", "games: low must be a finite number, and without quotes"),
        ("games = {low = 1, high = 8, log = true, step = 1}", "games: log and step exclude each other"),
        ("games = {low = 1, high = 8, step = 2}", "games: high must be low plus a number of steps"),
        ("games = {low = 1.5, high = 8, int = true}", "games: bounds and step must be integers"),
        ("games = {low = 1.0, high = 8.0}", "games: takes integers: write the bounds as integers"),
        ("'training.entropy' = {low = 0.0, high = 1.0, log = true}", "low must be greater than 0 with log = true"),
        ("former = {low = 0.1, high = nan}", "former: high must be a finite number"),
        ("former = {low = 0.1, high = 0.5, step = 1e-320}", "former: a number is too large, or the step too small"),
        (f"former = {{low = 0, high = 1{'0' * 400}}}", "former: a number is too large, or the step too small"),
        ("games = {low = 1, high = 8, int = false}", "games: takes integers: write the bounds as integers"),
        ("games = {low = 1, high = 8, log = 'yes'}", "games: log must be true or false, without quotes"),
        (f"games = {'[' * 1_000_000}", "is nested too deeply"),
        ("games = {choices = [64]}", "games: choices must be two values or more"),
        ("games = {choices = [64, 64.0]}", "games: a choice occurs twice"),
        ("games = {choices = [64, [1]]}", "games: choices must be a list of finite numbers"),
        ("games = {choices = [64, 64]}", "games: a choice occurs twice"),
        ("games = {choices = [64, 128], low = 1}", "games: write a range or choices, not both"),
        ("gamez = {low = 1, high = 3}", "gamez=1: no key named 'gamez'; did you mean game?"),
        ("'training.learning_rate' = {low = -1.0, high = 1.0}", "training.learning_rate=-1.0: training.learning_rate "),
        ("'former' = {low = 0.5, high = 1.5}", "former=1.5: former must be at most 1.0, got 1.5"),
        ("'network.norm' = {choices = ['none', 'nope']}", "network.norm=nope: network.norm expects one of"),
        ("training = {low = 1, high = 3}", "training=1: training is a group of keys"),
        ("seed = {low = 1, high = 3}", "seed cannot be searched: the seeds of a search are given by --seeds"),
        ("iterations = {low = 1, high = 3}", "iterations cannot be searched: trials have the same budget"),
        ("'evaluation.games' = {low = 2, high = 4}", "evaluation.games cannot be searched"),
    ],
)
def test_wrong_files_are_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError) as refusal:
        read(tmp_path, text)
    assert says in str(refusal.value)
    assert str(tmp_path / "space.toml") in str(refusal.value)


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*nope\.toml: No such file"):
        Space.read(tmp_path / "nope.toml", type(PRESET.config))  # type: ignore[arg-type]


def test_extremes_have_to_fit_each_other(tmp_path: Path) -> None:
    shares = '"opponents.random" = {low = 0.1, high = 0.6}\nformer = {low = 0.1, high = 0.6}\n'
    with pytest.raises(UsageError, match=r"opponents\.random=0\.6 former=0\.6: the shares .* at most 1, got 1\.2"):
        read(tmp_path, shares, "geister-policy-gradient")


def test_settings_are_written_as_on_the_command_line() -> None:
    assert overrides({"a": 1e-05, "b": True, "c": "layer"}) == ("a=1e-05", "b=true", "c=layer")
