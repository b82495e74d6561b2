"""The view that a seat gets of a game from its lines."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dancfr.errors import RunError
from dancfr.serve.geister import Client, Referee
from dancfr.serve.geister.client import state_of
from dancfr.serve.geister.protocol import Board, read_move, read_set, write_board
from dancfr.serve.messages import ProtocolError
from envs.agent import Agent
from envs.game import States
from envs.geister import Geister, history
from envs.geister.rules import layouts, new_states
from tests.dancfr.serve.geister.games import GAMES, RULES, bot, clients, play, read

FORCED = Geister(ply_limit=300)


class Watched:
    """Plays like another agent, and keeps the states that it gets."""

    def __init__(self, agent: Agent) -> None:
        self.name = agent.name
        self._agent = agent
        self.begun = 0
        self.shown: list[States] = []

    def begin(self, game, batch, rng) -> None:  # type: ignore[no-untyped-def]
        self.begun += 1
        self._agent.begin(game, batch, rng)

    def act(self, states, games, rng):  # type: ignore[no-untyped-def]
        self.shown.append(states.copy())
        assert games.tolist() == [0]
        return self._agent.act(states, games, rng)


def check_view(view: States, real: States, seat: int) -> None:
    """Checks that the view agrees with the real state in all that the seat may know, and is consistent."""
    who = np.array([seat], np.int8)
    assert np.array_equal(RULES.observe(view, who), RULES.observe(real, who))
    assert np.array_equal(RULES.legal(view), RULES.legal(real))
    assert RULES.to_move(view).tolist() == [seat]
    for name in ("square", "occupied", "taken", "ply", "placed", "winner", "ending"):
        assert np.array_equal(view[name], real[name]), name
    assert view["red"][0, seat] == real["red"][0, seat]
    assert int(view["red"][0, 1 - seat]).bit_count() == 4


def states_of_game(path: Path) -> list[tuple[int, str, States]]:
    """Player, board string and real state at each request for a move in a recording."""
    game, asked = Referee(), []
    for line in read(path):
        player, text = int(line[0]), line[3:]
        if text.startswith("SET:"):
            assert game.choose(player, text)
        elif text.startswith("MOV:"):
            game.move(text)
        elif text.startswith("MOV?"):
            asked.append((player, text[4:], game._states.copy()))
    return asked


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.stem)
def test_the_view_is_right_at_every_move_of_recorded_games(path: Path) -> None:
    asked = states_of_game(path)
    assert asked
    for player, text, real in asked:
        assert text == write_board(real[0], player)
        check_view(state_of(Board.read(text), player, int(real["ply"][0])), real, player)


def test_what_is_hidden_changes_nothing_in_the_view() -> None:
    """At every position of a game, for every possible arrangement of the opponent's ghosts."""
    compared = 0
    for player, text, real in states_of_game(GAMES[1]):
        seen = state_of(Board.read(text), player, int(real["ply"][0]))
        other = 1 - player
        gone = sum(1 << ghost for ghost in range(8) if real["square"][0, other, ghost] < 0)
        for reds in map(int, layouts(6)):
            if reds & gone != int(real["red"][0, other]) & gone:
                continue
            changed = real.copy()
            changed["red"][0, other] = reds
            again = state_of(Board.read(write_board(changed[0], player)), player, int(real["ply"][0]))
            assert again.tobytes() == seen.tobytes()
            compared += reds != int(real["red"][0, other])
    assert compared > 100


def test_colours_that_a_server_reveals_are_ignored() -> None:
    real = new_states(1, 6, np.array([[0b1111, 0b11110000]], np.uint8))
    hidden = state_of(Board.read(write_board(real[0], 0)), 0, 0)
    shown = state_of(Board.read(write_board(real[0], 0, reveal=True)), 0, 0)
    assert shown.tobytes() == hidden.tobytes()


@pytest.mark.parametrize("names", [("random", "random"), ("heuristic", "rush"), ("rush", "heuristic")])
@pytest.mark.parametrize("game", [RULES, FORCED], ids=["free", "forced"])
def test_agents_play_as_they_would_on_the_real_states(names: tuple[str, str], game: Geister) -> None:
    """The same moves as those of agents that get the whole state, with the same random draws."""
    endings = set()
    for seed in range(3):
        pair = clients(*names, seed=10 * seed, game=game)
        agents = [bot(name) for name in names]
        rngs = [np.random.default_rng([10 * seed + player, 1]) for player in (0, 1)]
        referee = Referee(RULES)
        for player in (0, 1):
            agents[player].begin(game, 1, rngs[player])
            referee.choose(player, str(pair[player].receive("SET?")))
            pair[player].receive("OK ")
        while not referee.ending:
            mover = referee.plies % 2
            said = str(pair[mover].receive(f"MOV?{referee.board(mover)}"))
            action = int(agents[mover].act(referee._states, np.zeros(1, np.int64), rngs[mover])[0])
            assert said == f"MOV:{'ABCDEFGH'[action // 4]},{('NORTH', 'EAST', 'WEST', 'SOUTH')[action % 4]}"
            pair[mover].receive(referee.move(said))
        endings.add(referee.ending)
    assert endings <= {"escape", "blues taken", "reds taken", "ply limit"}


@pytest.mark.parametrize("names", [("random", "random"), ("heuristic", "rush")])
def test_the_history_follows_from_the_boards(names: tuple[str, str]) -> None:
    """At every move, the agent's observation is the one that it would have if the server showed whole states."""
    game = Geister(ply_limit=300, forced_escape=False, history=True)
    agents = [Watched(bot(name)) for name in names]
    pair = Client(agents[0], game, 1), Client(agents[1], game, 2)
    for _ in range(3):
        referee = Referee()
        for player in (0, 1):
            referee.choose(player, str(pair[player].receive("SET?")))
            pair[player].receive("OK ")
        real = new_states(1, 6, np.zeros((1, 2), np.uint8), history.STATE)
        real["red"] = referee._states["red"]
        while not referee.ending:
            mover = referee.plies % 2
            said = str(pair[mover].receive(f"MOV?{referee.board(mover)}"))
            who = np.array([mover], np.int8)
            assert np.array_equal(game.observe(agents[mover].shown[-1], who), game.observe(real, who))
            move = read_move(said)
            assert move is not None
            game.step(real, np.array([4 * move[0] + move[1]]))
            pair[mover].receive(referee.move(said))
    assert referee.plies > 10


def test_a_repeated_board_is_no_move_in_the_history() -> None:
    agent = Watched(bot("random"))
    client = Client(agent, Geister(ply_limit=300, forced_escape=False, history=True))
    client.receive("SET?")
    client.receive("OK ")
    start = write_board(new_states(1, 6, np.array([[15, 15]], np.uint8))[0], 0)
    for _ in range(2):
        client.receive(f"MOV?{start}")
        client.receive("NG ")
    first, second = agent.shown
    np.testing.assert_array_equal(second, first)  # by fields: the bytes between them are of no meaning
    assert not second["moves"].any()


def test_seat_ply_and_outcome() -> None:
    watched = Watched(bot("heuristic")), Watched(bot("rush"))
    pair = Client(watched[0], RULES, 4), Client(watched[1], RULES, 5)
    for number in range(1, 4):
        referee = Referee()
        play(pair, referee)
        assert [client.seat for client in pair] == [0, 1]
        assert {client.outcome for client in pair} <= {"won", "lost", "drawn"}
        assert [client.outcome for client in pair].count("won") == (referee.winner is not None)
        assert [agent.begun for agent in watched] == [number] * 2
        for player, agent in enumerate(watched):
            plies = [int(states["ply"][0]) for states in agent.shown]
            assert plies == list(range(player, referee.plies, 2))
            agent.shown.clear()
    assert pair[0].decisions + pair[1].decisions > 0


def test_colours_are_drawn_from_the_seed() -> None:
    def drawn(seed: int) -> list[str]:
        client = Client(bot("random"), RULES, seed)
        return [str(client.receive("SET?")) for _ in range(40)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(set(drawn(1))) > 20
    assert all(read_set(text) is not None for text in drawn(3))


def test_a_repeated_board_is_answered_again_in_the_same_ply() -> None:
    agent = Watched(bot("random"))
    client = Client(agent, RULES)
    client.receive("SET?")
    client.receive("OK ")
    start = write_board(new_states(1, 6, np.array([[15, 15]], np.uint8))[0], 0)
    for _ in range(2):
        assert str(client.receive(f"MOV?{start}")).startswith("MOV:")
    client.receive("NG ")
    assert client.refused
    client.receive(f"MOV?{start}")
    assert not client.refused
    assert [int(states["ply"][0]) for states in agent.shown] == [0, 0, 0]


@pytest.mark.parametrize("line", ["", "HELO", "MOV", "220 mail.example", "MOV?", "MOV?" + "x" * 48, "OKX", "\x00"])
def test_lines_that_no_server_sends(line: str) -> None:
    client = Client(bot("random"), RULES)
    client.receive("SET?")
    with pytest.raises(ProtocolError):
        client.receive(line)


class Wrong:
    """Chooses an action that is not legal."""

    name = "wrong"

    def __init__(self, action: int) -> None:
        self._action = action

    def begin(self, game, batch, rng) -> None:  # type: ignore[no-untyped-def]
        pass

    def act(self, states, games, rng):  # type: ignore[no-untyped-def]
        return np.array([self._action])


@pytest.mark.parametrize("action", [-1, 3, 32, 99])
def test_an_agent_that_breaks_the_rules_is_named(action: int) -> None:
    client = Client(Wrong(action), RULES)
    client.receive("SET?")
    start = write_board(new_states(1, 6, np.array([[15, 15]], np.uint8))[0], 0)
    with pytest.raises(RunError, match="wrong plays action"):
        client.receive(f"MOV?{start}")


def test_an_agent_bound_to_escape_does_so() -> None:
    """If the agent's rules force escapes, no other move is legal for it."""
    make: Callable[[str], Agent] = bot
    board = "00B24R34R44R15R25B35B45B" + "41u31u21u11u40u30u20u10u"
    for name in ("random", "heuristic", "rush"):
        client = Client(make(name), FORCED, 1)
        client.receive("SET?")
        assert client.receive(f"MOV?{board}") == "MOV:A,NORTH"
