"""Learner servers of one player each, behind one `Handle`, so that fits of several players run at the same time."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.learning import LearnerServer
from actors.remote import Handle, Ref


class LearnerPerPlayer(Handle[LearnerServer]):
    """A `Handle` of learner servers of one player each.

    They write and read the files of a single server of all players.

    Args:
        name: Name in messages.
        servers: The server of each player.
    """

    def __init__(self, name: str, servers: Mapping[int, Handle[LearnerServer]]) -> None:
        self.name = name
        self.servers = dict(servers)

    def send(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], returns: int = 1) -> Any:
        """See `Handle.send`. The first player's server writes the states of all; all of them load."""
        first, *others = self.servers.values()
        if method == LearnerServer.save.__name__:
            states = [other.call(LearnerServer.state) for other in others]
            return first.send(method, (*args, *states), kwargs)
        if method == LearnerServer.load.__name__:
            loads = [each.send(method, (*args, tuple(self.servers)), kwargs) for each in self.servers.values()]
            return first.call(LearnerServer.after, *loads)
        player, *_ = args  # the first argument of `fit` and `weights`
        return self.servers[player].send(method, args, kwargs, returns)

    def ready(self) -> Ref:
        """See `Handle.ready`: all servers have been made."""
        first = next(iter(self.servers.values()))
        return first.call(LearnerServer.after, *[each.ready() for each in self.servers.values()])
