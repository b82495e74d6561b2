"""Games recorded with an independent server, see `tests/data/geister/README.md`, and games without sockets."""

from pathlib import Path

import numpy as np

from dancfr.runs.recorded_games import Recording, read_record
from dancfr.serve.geister import Client, Referee
from dancfr.serve.geister.protocol import MOVE_REQUEST, SETUP_REQUEST
from dancfr.serve.position import Position, replayed
from envs.agent import Agent
from envs.geister import Geister
from envs.geister.players import BOTS

FOLDER = Path(__file__).parents[3] / "data" / "geister"
GAMES = sorted(FOLDER.glob("*.txt"))
RULES = Geister(ply_limit=300, forced_escape=False)


def read(path: Path) -> list[str]:
    """Lines of a recording: ``0< SET?`` and so on. Blanks at the end of a line are part of it."""
    return [line for line in path.read_text(encoding="ascii").split("\n") if line]


def replay(file: str | None) -> tuple[Position, Recording]:
    """The last position of a game that the server has recorded, by the rules, and the record."""
    assert file is not None
    recording = read_record(Path(file))
    position, _, damage = replayed(recording, Geister(**recording.header.options))
    assert damage == ""
    return position, recording


def of_player(lines: list[str], player: int) -> list[str]:
    """The lines of one player. The order between the lines of both depends on the network."""
    return [line for line in lines if line.startswith(str(player))]


def bot(name: str) -> Agent:
    return BOTS[name]()


def play(clients: tuple[Client, Client], referee: Referee) -> None:
    """Plays a game of two clients."""
    for player in (0, 1):
        assert referee.choose(player, str(clients[player].receive(SETUP_REQUEST)))
        clients[player].receive("OK ")
    while not referee.ending:
        mover = referee.plies % 2
        assert referee.mover == mover
        answer = referee.move(str(clients[mover].receive(MOVE_REQUEST + referee.board(mover))))
        clients[mover].receive(answer)
    for player in (0, 1):
        clients[player].receive(referee.result(player))


def clients(first: str, second: str, seed: int = 0, game: Geister = RULES) -> tuple[Client, Client]:
    return Client(bot(first), game, seed), Client(bot(second), game, seed + 1)


def letters(reds: int) -> str:
    return "".join(letter for ghost, letter in enumerate("ABCDEFGH") if reds >> ghost & 1)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)
