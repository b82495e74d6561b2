"""Games recorded from an independent server, replayed move for move; see `tests/data/geister/README.md`."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from envs.game import IllegalAction, States
from envs.geister import Geister, rules

FOLDER = Path(__file__).parent.parent / "data" / "geister"
GAMES = sorted(FOLDER.glob("*.txt"))
ENDINGS = {
    "e201": rules.BY_PLY_LIMIT,
    "e203": rules.BY_ESCAPE,
    "g1_random_random": rules.BY_BLUES_TAKEN,
    "g2_escape_escape": rules.BY_BLUES_TAKEN,
    "g4_shuffle_draw": rules.BY_PLY_LIMIT,
    "g5_illegal_loses": rules.RUNNING,  # an illegal move loses on the server and is refused by the rules
}
VALUES = {"WON": 1.0, "DRW": 0.0, "LST": -1.0}


@dataclass
class Line:
    """One message of a recording."""

    player: int
    text: str


def read(path: Path) -> list[Line]:
    lines = [line.rstrip("\r\n") for line in path.read_text().splitlines() if line.strip()]
    return [Line(int(line[0]), line[3:]) for line in lines]


def start(lines: list[Line]) -> States:
    """The state after both `SET:` messages, which name the red ghosts."""
    reds = np.zeros((1, 2), np.uint8)
    for line in lines:
        if line.text.startswith("SET:"):
            reds[0, line.player] = sum(1 << "ABCDEFGH".index(letter) for letter in line.text[4:])
    return rules.new_states(1, 6, reds)


def board_string(state: np.void, player: int, reveal: bool) -> str:
    """The 48 characters that the server sends to a player; with all colours if `reveal`."""
    parts = []
    for owner in (player, 1 - player):
        for ghost in range(8):
            square = int(state["square"][owner, ghost])
            colour = "br"[(int(state["red"][owner]) >> ghost) & 1]
            if square == rules.CAPTURED:
                parts.append("99" + colour)
            elif square == rules.ESCAPED:
                parts.append("88" + colour)
            elif owner == player:
                parts.append(f"{square % 6}{square // 6}{colour.upper()}")
            else:
                parts.append(f"{(35 - square) % 6}{(35 - square) // 6}{colour if reveal else 'u'}")
    return "".join(parts)


def parse_move(text: str) -> int:
    letter, direction = text.removeprefix("MOV:").split(",")
    return 4 * "ABCDEFGH".index(letter) + rules.DIRECTIONS.index(direction)


def play_move(game: Geister, states: States, action: int, answer: str) -> None:
    """Plays a recorded move and compares its effect with the server's answer."""
    mover = int(states["to_move"][0])
    square = states["square"][0, mover, action // 4]
    legal = game.legal(states)[0, action]
    rng = np.random.default_rng(0)
    if answer == "NG ":
        before = states.copy()
        assert not legal
        with pytest.raises(IllegalAction):
            game.step(states, np.array([action]), rng)
        assert np.array_equal(states, before)
        return
    assert legal
    taken = states["taken"][0, 1 - mover].copy()
    game.step(states, np.array([action]), rng)
    gained = states["taken"][0, 1 - mover] - taken
    assert answer == {(0, 0): "OK ", (1, 0): "OKB", (0, 1): "OKR"}[tuple(gained.tolist())]
    if states["square"][0, mover, action // 4] == rules.ESCAPED:
        assert square in (0, 5)
        assert action % 4 == rules.ESCAPE_DIRECTION == rules.NORTH


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.stem)
def test_replays_move_for_move(path: Path) -> None:
    game = Geister(size=6, ply_limit=300, forced_escape=False)
    lines = read(path)
    states = start(lines)
    boards = moves = 0
    results: dict[int, float] = {}
    for i, line in enumerate(lines):
        kind = line.text[:4]
        if kind == "MOV?":
            assert line.player == states["to_move"][0]
            assert line.text[4:] == board_string(states[0], line.player, reveal=False)
            boards += 1
        elif kind == "MOV:":
            answer = next(later.text for later in lines[i + 1 :] if later.player == line.player)
            play_move(game, states, parse_move(line.text), answer)
            moves += 1
        elif kind[:3] in VALUES:
            assert line.text[4:] == board_string(states[0], line.player, reveal=True)
            results[line.player] = VALUES[kind[:3]]
    assert boards == moves == sum(line.text.startswith("MOV") for line in lines) // 2 > 0
    assert set(results) == {0, 1}
    assert game.endings(states).tolist() == [ENDINGS[path.stem]]
    if path.stem == "g5_illegal_loses":
        assert results == {0: -1.0, 1: 1.0}
        assert not game.finished(states)[0]
        assert states["to_move"][0] == 0
    else:
        assert game.returns(states)[0].tolist() == [results[0], results[1]]


def test_all_recordings_are_here() -> None:
    assert {path.stem for path in GAMES} == set(ENDINGS)
