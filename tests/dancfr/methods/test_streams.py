"""Seeds of nets are independent, for any number of players."""

from itertools import product

from dancfr.methods.streams import Stream, net_seed


def test_no_two_nets_of_runs_players_and_kinds_have_one_seed() -> None:
    """With 4 * seed + 2 * player + kind, player 2 of a run would start like player 0 of the next one."""
    nets = list(product(range(60), range(6), range(3)))
    seeds = {net_seed(*net) for net in nets}
    assert len(seeds) == len(nets)
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert net_seed(7, 2, 1) == net_seed(7, 2, 1)


def test_streams_lie_above_the_numbers_of_chunks() -> None:
    assert min(Stream) == 2**31
    assert len(set(Stream)) == len(Stream)
