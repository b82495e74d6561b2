"""The small games as PettingZoo environments; see also `test_pettingzoo`."""

from types import ModuleType

import numpy as np
import pytest

from envs import dark_hex, goofspiel, kuhn, leduc, liars_dice, oshi_zumo, phantom_ttt
from envs.cheat import Cheat
from envs.drawing import TEXT_SHAPE, text_picture
from envs.extensive import OVER, FactoredGame
from envs.factored_env import FactoredEnv
from tests.envs.small_trees import states_of, tree_of
from tests.envs.stated_games import SMALL


@pytest.mark.parametrize("game", SMALL.values(), ids=SMALL.keys())
def test_views_hide_what_the_player_has_not_seen(game: FactoredGame) -> None:
    """While a game runs the text is the same wherever the player's history is; a spectator sees everything."""
    tree = tree_of(game)
    states = states_of(game, tree)
    for view in (0, 1):
        seen: dict[int, str] = {}
        for node in np.flatnonzero(tree.mover != OVER):
            text = game.describe(states[node], view)
            assert seen.setdefault(int(tree.history[node, view]), text) == text
    decisions = np.flatnonzero(tree.mover >= 0)
    assert len({game.describe(states[node]) for node in decisions}) == len(decisions)


@pytest.mark.parametrize(
    ("module", "actions", "texts"),
    [
        (kuhn, (0, 1, 1), ("cards K Q: pass bet bet", "cards K ?: pass bet bet", "cards ? Q: pass bet bet")),
        (
            leduc,
            (1, 1, 2, 1),
            (
                "cards Ka Qb, pot 10: call call, board Ja: raise call",
                "cards Ka ?, pot 10: call call, board Ja: raise call",
                "cards ? Qb, pot 10: call call, board Ja: raise call",
            ),
        ),
        (
            goofspiel,
            (4, 0, 2),
            ("5: 5-1 first; 4: 3-? open", "5: 5-? first; 4: 3-? open", "5: ?-1 first; 4: ?-? open"),
        ),
        (
            oshi_zumo,
            (1, 3, 2),
            (
                "|W..| coins 7 5: 1-3 second; 2-? open",
                "|W..| coins 7 ?: 1-? second; 2-? open",
                "|W..| coins ? 5: ?-3 second; ?-? open",
            ),
        ),
        (
            liars_dice,
            (2, 5, 10),
            ("dice 3 6: 1x3 1x6 2x5", "dice 3 ?: 1x3 1x6 2x5", "dice ? 6: 1x3 1x6 2x5"),
        ),
        (phantom_ttt, (4, 4, 0), ("o.. / .x. / ...", "... / .x. / ...", "o.. / .x. / ...")),
        (dark_hex, (4, 0, 0), ("o.. / .x. / ...", "o.. / .x. / ...", "o.. / ... / ...")),
    ],
    ids=lambda value: value.__name__ if isinstance(value, ModuleType) else "",
)
def test_texts(module: ModuleType, actions: tuple[int, ...], texts: tuple[str, ...]) -> None:
    for view, text in zip((None, 0, 1), texts, strict=True):
        made = module.raw_env(render_mode="ansi", view=view)
        made.reset(seed=0)
        if module in (kuhn, leduc):
            made.states["cards"] = (2, 1) if module is kuhn else (4, 3)
        if module is liars_dice:
            made.states["hands"] = (2, 5)
        for action in actions:
            made.step(action)
            if module is leduc and made.states["board"][0] != 255:
                made.states["board"] = 0
        assert made.render() == text


@pytest.mark.parametrize("module", [kuhn, leduc, goofspiel, oshi_zumo, liars_dice, phantom_ttt, dark_hex])
def test_pictures_show_the_text_in_one_shape(module: ModuleType) -> None:
    """Equal texts are equal pictures and others are not, within a margin that stays empty up to the longest game."""
    made, text = (module.raw_env(render_mode=mode) for mode in ("rgb_array", "ansi"))
    for each in (made, text):
        each.reset(seed=1)
    seen: dict[bytes, str] = {}
    while made.agents and not any(made.terminations.values()):
        action = int(np.flatnonzero(made.infos[made.agent_selection]["action_mask"])[-1 if module is liars_dice else 0])
        picture = made.render()
        assert (picture.shape, picture.dtype) == (TEXT_SHAPE, np.uint8)
        assert (picture[-8:] == picture[0, 0]).all()
        assert (picture[:, -8:] == picture[0, 0]).all()
        assert (picture != picture[0, 0]).any()
        assert seen.setdefault(picture.tobytes(), text.render()) == text.render()
        for each in (made, text):
            each.step(action)
    assert len(seen) > 1


def test_every_player_of_a_game_has_a_view() -> None:
    game = Cheat(players=3)
    made = FactoredEnv(game, "ansi", view=2)
    made.reset(seed=1)
    assert made.render() == game.describe(made.states[0], 2)
    for view in (3, -1, True):
        with pytest.raises(ValueError, match=r"^view must be None or a player from 0 to 2, got"):
            FactoredEnv(game, "ansi", view=view)


def test_text_of_any_length_keeps_the_shape_of_a_picture() -> None:
    short, long = text_picture("x"), text_picture("a word " * 60)
    assert short.shape == long.shape == TEXT_SHAPE
    assert (long != long[0, 0]).any(axis=2).sum() > 50 * (short != short[0, 0]).any(axis=2).sum()
    assert text_picture("one " * 2000).shape == TEXT_SHAPE
    assert text_picture("").shape == TEXT_SHAPE
