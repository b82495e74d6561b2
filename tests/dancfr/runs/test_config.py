"""Settings from the command line: typed values, and one line for each mistake."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods import find_preset
from dancfr.runs.config import Config, apply_overrides, describe_differences, differences, refuse_changes


class Mlp(Config):
    kind: Literal["mlp"] = "mlp"
    width: int = Field(64, ge=1, le=4096)
    layers: tuple[int, ...] = (64, 64)


class Evaluation(Config):
    every: int = Field(10, ge=1)
    against: list[str] = Field(["random"])


class Example(Config):
    resumable = frozenset({"iterations", "evaluation"})

    iterations: int = Field(100, ge=1)
    seed: int = Field(0, ge=0)
    rate: Annotated[float, Field(gt=0)] = 1e-3
    clip: float | None = Field(1.0, gt=0)
    importance: Literal["none", "clipped", "full"] = "none"
    baseline: bool = True
    size: tuple[int, int] = (6, 6)
    name: str = "a"
    game_options: dict[str, Any] = Field({"ply_limit": 100})
    net: Mlp = Mlp()
    evaluation: Evaluation = Evaluation()

    @model_validator(mode="after")
    def _clip_needs_rate(self):
        if self.clip == 7.0:
            raise ValueError("clip=7 brings bad luck; take 8")
        return self


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("iterations=5", "iterations", 5),
        ("iterations=2_000", "iterations", 2000),
        ("iterations=2e6", "iterations", 2_000_000),
        ("rate=3e-4", "rate", 3e-4),
        ("rate=1", "rate", 1.0),
        ("clip=none", "clip", None),
        ("clip=0.5", "clip", 0.5),
        ("importance=clipped", "importance", "clipped"),
        ("baseline=off", "baseline", False),
        ("baseline=True", "baseline", True),
        ("size=(4,5)", "size", (4, 5)),
        ("size=[4,5]", "size", (4, 5)),
        ("size=4,5", "size", (4, 5)),
        ("name=none", "name", "none"),
        ("name=a=b", "name", "a=b"),
        ("game_options.ply_limit=30", "game_options", {"ply_limit": 30}),
        ("game_options.forced_escape=false", "game_options", {"ply_limit": 100, "forced_escape": False}),
        ("net.width=128", "net.width", 128),
        ("net.layers=[32]", "net.layers", (32,)),
        ("evaluation.against=random,rush", "evaluation.against", ["random", "rush"]),
    ],
)
def test_a_setting_is_read_by_the_type_of_its_key(override, path, value):
    changed = apply_overrides(Example(), [override])
    found: Any = changed
    for part in path.split("."):
        found = getattr(found, part)
    assert found == value
    assert type(found) is type(value)
    assert Example.from_json(changed.model_dump(mode="json"), "x") == changed


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["iteratons=5"], "no key named 'iteratons'; did you mean iterations?"),
        (["net.widht=5"], "no key named 'net.widht'; did you mean net.width?"),
        (["width=5"], "no key named 'width'; did you mean net.width?"),
        (["zzzzqqqq=5"], "no key named 'zzzzqqqq'; there are: "),
        (["iterations=many"], "iterations expects an integer, got 'many'"),
        (["iterations=1.5"], "iterations expects an integer, got '1.5'"),
        (["rate=fast"], "rate expects a number, got 'fast'"),
        (["baseline=perhaps"], "baseline expects true or false, got 'perhaps'"),
        (["clip=x"], "clip expects a number or none, got 'x'"),
        (["importance=ful"], "importance expects one of none, clipped, full, got 'ful'"),
        (["iterations=true"], "iterations expects an integer, got 'true'"),
        (["size=1,2,3"], "size expects a list of 2 values"),
        (["net.layers=a"], "net.layers expects a list like [a,b], each an integer, got 'a'"),
        (["iterations=0"], "iterations must be at least 1, got 0"),
        (["rate=0"], "rate must be greater than 0"),
        (["rate=nan"], "rate must be a finite number, got nan"),
        (["rate=inf"], "rate must be a finite number, got inf"),
        (["net.width=5000"], "net.width must be at most 4096, got 5000"),
        (["clip=7"], "clip=7 brings bad luck; take 8"),
        (["net=5"], "net is a group of keys: set net.kind, net.width, net.layers, ..."),
        (["seed.x=5"], "seed is a single value: there is no seed.x"),
        (["seed"], "'seed' is not a setting: write key=value"),
        (["=5"], "'=5' is not a setting"),
        (["game_options=5", "game_options.ply_limit=3"], "game_options expects options like"),
        (["net.width=0", "seed=-1", "rate=x"], "rate expects a number, got 'x' (and 2 more errors)"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(overrides, expected):
    with pytest.raises(UsageError) as caught:
        apply_overrides(Example(), overrides)
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_the_later_setting_of_a_key_wins():
    assert apply_overrides(Example(), ["seed=1", "net.width=7", "seed=2"]).seed == 2


def test_free_options_given_as_a_whole_replace_those_there_were():
    assert Example().game_options == {"ply_limit": 100}
    assert apply_overrides(Example(), ["game_options={}"]).game_options == {}
    assert apply_overrides(Example(), ['game_options={"a": 1}', "game_options.b=2"]).game_options == {"a": 1, "b": 2}
    nested = "[" * 5000
    assert apply_overrides(Example(), [f"game_options.ply_limit={nested}"]).game_options == {"ply_limit": nested}


def test_another_game_starts_from_its_own_options_and_bots():
    quick = find_preset("geister-quick").config
    same = apply_overrides(quick, ["game=geister", "game_options.ply_limit=50"])
    assert same.game_options == {**quick.game_options, "ply_limit": 50}
    assert same.evaluation == quick.evaluation
    other = apply_overrides(quick, ["game=mini-geister", "game_options.ply_limit=20"])
    assert other.game_options == {"ply_limit": 20}
    assert (other.evaluation.opponents, other.evaluation.ply_limit) == (("random",), None)
    other.check()
    with pytest.raises(UsageError, match=r"evaluation.opponents: no bot of geister named 'rash'; did you mean rush\?"):
        apply_overrides(quick, ["evaluation.opponents=[random,rash]"]).check()


def test_configurations_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Example().seed = 3


def test_a_stored_configuration_that_does_not_fit_is_refused():
    data = Example().model_dump(mode="json")
    with pytest.raises(UsageError, match=r"^here does not fit this version"):
        Example.from_json({**data, "net": {"kind": "mlp", "widht": 3}}, "here")
    with pytest.raises(UsageError, match=r"no key named 'seeed'; did you mean seed"):
        Example.from_json({**data, "seeed": 1}, "here")


def test_differences_are_listed_by_key():
    old, new = Example(), apply_overrides(Example(), ["net.width=128", "clip=none", "iterations=200"])
    assert describe_differences(old, new) == [
        "iterations: 100 -> 200",
        "clip: 1.0 -> none",
        "net.width: 64 -> 128",
    ]
    assert describe_differences(old, Example()) == []
    assert differences(old, new)["clip"] == (1.0, None)


def test_only_harmless_keys_may_change_at_a_resume():
    old = Example()
    refuse_changes(old, apply_overrides(old, ["iterations=500", "evaluation.every=1", "evaluation.against=rush"]))
    with pytest.raises(UsageError, match=r"rate: 0.001 -> 1.0 \(and 1 more\): .*--allow-changes"):
        refuse_changes(old, apply_overrides(old, ["iterations=500", "net.width=128", "rate=1"]))
