"""Functions as agents: they play and are measured as the policies that they compute."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import dancfr
from dancfr.agents.functions import Policy
from dancfr.errors import UsageError
from dancfr.evaluation.arena import AgentError
from dancfr.games.trees import make_tree
from envs.game import numbered

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


def uniform(infostates: Floats, legal: Mask) -> NDArray[np.float64]:
    return legal / legal.sum(axis=1, keepdims=True)


def always(action: int) -> Policy:
    return lambda infostates, legal: np.eye(legal.shape[1])[np.full(len(legal), action)]


def table_of(game: Any, agent: Any, tree: Any) -> Policy:
    """A policy that looks up encoded infostates among those of a game's tree."""
    rows = {row.tobytes(): place for place, row in enumerate(game.encode(tree.observed, "flat"))}
    table = tree.to_table(agent.tree_policy(tree))
    return lambda infostates, legal: table[[rows[row.tobytes()] for row in infostates]]


@pytest.mark.parametrize("game", ["kuhn", "leduc", "liars_dice"])
def test_uniform_policy_is_random_play(game: str) -> None:
    found, wanted = (dancfr.exploitability(each, game) for each in (dancfr.policy_agent(uniform, game), "random"))
    assert (found.value, found.nash_conv) == pytest.approx((wanted.value, wanted.nash_conv))


def test_policy_of_a_walked_game_is_asked_at_every_infoset() -> None:
    """The first legal action in dark hex on 2x2; an exact game has no tree."""
    game = dancfr.make_game("dark_hex", rows=2, columns=2)
    asked: set[bytes] = set()

    def first(infostates: Floats, legal: Mask) -> Floats:
        asked.update(row.tobytes() for row in infostates)
        return np.eye(legal.shape[1], dtype=np.float32)[legal.argmax(axis=1)]

    found = dancfr.exploitability(dancfr.policy_agent(first, game), game)
    assert found.value == 1, "the first player completes a column"
    assert found.exploitability > 0
    assert len(asked) > 20


def test_equilibrium_as_a_function_is_the_equilibrium() -> None:
    game = numbered(dancfr.make_game("kuhn", cards=6))
    solution, tree = dancfr.solve(game, iterations=200), make_tree(game)
    agent = dancfr.policy_agent(table_of(game, solution.agent(), tree), game, name="cfr")
    assert dancfr.exploitability(agent, game).nash_conv == pytest.approx(solution.nash_conv, abs=1e-6)
    match = dancfr.play(agent, "random", game, games=4000, seed=1)
    assert match.agent == "cfr"
    same = dancfr.play(solution.agent(), "random", game, games=4000, seed=1)
    assert match.mean_return == pytest.approx(same.mean_return, abs=3 * same.result.return_error)


def test_each_player_has_its_own_policy() -> None:
    passing, betting = always(0), always(1)
    agent = dancfr.policy_agent([passing, betting], "kuhn")
    assert dancfr.exploitability(agent, "kuhn").value == -1, "the first gives up his ante after the other's bet"
    other = dancfr.policy_agent([betting, passing], "kuhn")
    assert dancfr.exploitability(other, "kuhn").value == 1
    match = dancfr.play(other, dancfr.policy_agent(passing, "kuhn"), "kuhn", games=400)
    assert match.result.seats["first"]["win_rate"] == 1


@pytest.mark.parametrize(("options", "shape"), [({}, (6, 6, 6)), ({"history": True}, (568,))])
@pytest.mark.parametrize("encoding", [None, "flat"])
def test_infostates_are_those_of_the_environment(
    options: dict[str, Any], shape: tuple[int, ...], encoding: str | None
) -> None:
    game = dancfr.make_game("geister", ply_limit=20, **options)
    seen: list[tuple[int, ...]] = []

    def watched(infostates: Floats, legal: Mask) -> NDArray[np.float64]:
        seen.append(infostates.shape[1:])
        assert infostates.dtype == np.float32
        return uniform(infostates, legal)

    agent = dancfr.policy_agent(watched, game, encoding=encoding)
    dancfr.play(agent, "random", game, games=4)
    environment = gymnasium.make("dancfr/Game-v0", game=game, opponent=agent, encoding=encoding)
    environment.reset(seed=1)
    shown = environment.observation_space["observation"].shape  # type: ignore[index]
    assert set(seen) == {shown}
    assert encoding or shown == shape


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (lambda infostates, legal: infostates, r"of the shape \[936, 32\], not probabilities of the shape \[936, 3\]"),
        (lambda infostates, legal: np.ones(legal.shape), "probabilities whose sum is 2, not 1|illegal action with"),
        (lambda infostates, legal: 2.0 * uniform(infostates, legal), "probabilities whose sum is 2, not 1"),
        (
            lambda infostates, legal: np.full(legal.shape, 1 / 3),
            "plays an illegal action with probability 0.333333",
        ),
        (lambda infostates, legal: legal - 2.0, "returned -2 as a probability: are these scores"),
        (lambda infostates, legal: legal * np.nan, "returned nan as a probability"),
        (lambda infostates, legal: "first", "returned str, not probabilities of the shape"),
        (lambda infostates, legal: torch.ones(legal.shape, requires_grad=True), r"returned Tensor, .*detach\(\)"),
    ],
)
def test_answers_that_are_no_policies_are_refused_in_one_line(policy: Callable[..., Any], told: str) -> None:
    agent = dancfr.policy_agent(policy, "leduc", name="mine")
    with pytest.raises(AgentError, match=f"^agent mine .*{told}") as refused:
        dancfr.exploitability(agent, "leduc")
    assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(AgentError, match=r"^agent mine "):
        dancfr.play(agent, "random", "leduc", games=2000)


def test_other_rules_than_those_of_the_policy_are_refused() -> None:
    agent = dancfr.policy_agent(uniform, "kuhn")
    leduc = dancfr.make_game("leduc")
    for call in (lambda: dancfr.play(agent, "random", leduc), lambda: dancfr.exploitability(agent, leduc)):
        with pytest.raises(UsageError, match=r"^policy was made for kuhn, not for leduc$"):
            call()
    with pytest.raises(UsageError, match=r"^policy was made for kuhn, not for leduc$"):
        agent.begin(numbered(leduc), 1, np.random.default_rng(0))


def test_errors_of_a_policy_are_one_line_that_names_it() -> None:
    """A function of one argument before any game; a bare net and one of a wrong size when they are asked."""

    def sees_all(infostates: Floats) -> Floats:
        return infostates

    with pytest.raises(
        UsageError, match=r"^mine: sees_all\(infostates.* cannot be called as sees_all\(infostates, legal"
    ):
        dancfr.policy_agent(sees_all, "leduc", name="mine")  # type: ignore[arg-type]
    net = torch.nn.Linear(30, 3)

    def mismatched(infostates: Floats, legal: Mask) -> Any:
        return net(torch.from_numpy(infostates)).softmax(1).detach()

    for policy, told in (
        (net, "Linear raised TypeError: .*, and a net takes tensors: call it in a function, as docs/"),
        (
            mismatched,
            r"mismatched raised RuntimeError: mat1 .* \(936x32 and 30x3\); .*infostates float32\[936, 32\] and",
        ),
    ):
        with pytest.raises(AgentError, match=f"^agent mine: {told}") as refused:
            dancfr.exploitability(dancfr.policy_agent(policy, "leduc", name="mine"))
        assert len(str(refused.value).splitlines()) == 1
        assert len(str(refused.value)) < 700


def test_games_of_other_libraries_take_functions_too() -> None:
    name = "openspiel:kuhn_poker"
    found, wanted = (dancfr.exploitability(each, name) for each in (dancfr.policy_agent(uniform, name), "random"))
    assert found.nash_conv == pytest.approx(wanted.nash_conv)
    zoo = "pettingzoo:pettingzoo.classic.tictactoe_v3"
    assert dancfr.play(dancfr.policy_agent(uniform, zoo), "random", zoo, games=20).result.games == 20


def test_objects_play_tournaments_beside_names() -> None:
    agents = [dancfr.policy_agent(uniform, "kuhn"), dancfr.policy_agent(always(1), "kuhn")]
    found = dancfr.tournament([*agents, "random"], dancfr.make_game("kuhn"), games=60, seed=4)
    assert found.as_dict()["agents"] == ["policy", "policy (2)", "random"]
    played = dancfr.play(agents[0], agents[1], "kuhn", games=60, seed=4)
    assert found.found["table"]["policy"]["policy (2)"]["win_rate"] == played.win_rate
    with pytest.raises(UsageError, match="policy is named twice: in a tournament each agent plays once"):
        dancfr.tournament([agents[0], agents[0]], "kuhn")


def test_best_response_takes_an_object_unless_it_is_stored(tmp_path: Path) -> None:
    agent = dancfr.policy_agent(always(1), "kuhn", name="bettor")
    found = dancfr.best_response(agent, "kuhn", games=8000, eval_games=400, beside_exact=True).found
    assert found["agent"] == "bettor"
    assert found["exact_exploitability"] == pytest.approx(dancfr.exploitability(agent, "kuhn").exploitability)
    assert found["value"] > 0
    with pytest.raises(UsageError, match="a training in out can be continued, for which bettor needs a name"):
        dancfr.best_response(agent, "kuhn", out=tmp_path / "response")
