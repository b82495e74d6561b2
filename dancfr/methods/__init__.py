"""The methods, one driver each: the file that a reader opens first."""

from typing import Any

from dancfr.errors import UsageError, nearest
from dancfr.methods.options import TrainOptions
from dancfr.runs.config import Config
from dancfr.runs.run import Run
from dancfr.watch.tracking import Tracker

METHODS = ("dream", "dmc", "cheat-cfr", "belief-tables", "depth-limited", "value-net")


def train(run: Run, method: str, config: Config, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Runs a method to its end; see the `train` of its driver.

    Raises:
        UsageError: there is no such method, or the configuration is not one of it.
    """
    if method == "dream":
        from dancfr.methods.dream.config import DreamConfig
        from dancfr.methods.dream.driver import train as train_dream

        if not isinstance(config, DreamConfig):
            raise UsageError(f"method dream needs a DreamConfig, not a {type(config).__name__}")
        return train_dream(run, config, tracker, options)
    if method == "dmc":
        from dancfr.methods.dmc.config import DmcConfig
        from dancfr.methods.dmc.driver import train as train_dmc

        if not isinstance(config, DmcConfig):
            raise UsageError(f"method dmc needs a DmcConfig, not a {type(config).__name__}")
        return train_dmc(run, config, tracker, options)
    if method == "cheat-cfr":
        from dancfr.methods.cheat_cfr.config import CheatCfrConfig
        from dancfr.methods.cheat_cfr.driver import train as train_cheat_cfr

        if not isinstance(config, CheatCfrConfig):
            raise UsageError(f"method cheat-cfr needs a CheatCfrConfig, not a {type(config).__name__}")
        return train_cheat_cfr(run, config, tracker, options)
    if method == "belief-tables":
        from dancfr.methods.belief_tables.config import BeliefTablesConfig
        from dancfr.methods.belief_tables.driver import train as train_belief_tables

        if not isinstance(config, BeliefTablesConfig):
            raise UsageError(f"method belief-tables needs a BeliefTablesConfig, not a {type(config).__name__}")
        return train_belief_tables(run, config, tracker, options)
    if method == "depth-limited":
        from dancfr.methods.depth_limited.config import DepthLimitedConfig
        from dancfr.methods.depth_limited.driver import train as train_depth_limited

        if not isinstance(config, DepthLimitedConfig):
            raise UsageError(f"method depth-limited needs a DepthLimitedConfig, not a {type(config).__name__}")
        return train_depth_limited(run, config, tracker, options)
    if method == "value-net":
        from dancfr.methods.value_net.config import ValueNetConfig
        from dancfr.methods.value_net.driver import train as train_value_net

        if not isinstance(config, ValueNetConfig):
            raise UsageError(f"method value-net needs a ValueNetConfig, not a {type(config).__name__}")
        return train_value_net(run, config, tracker, options)
    raise UsageError(nearest(method, METHODS, "method"))
