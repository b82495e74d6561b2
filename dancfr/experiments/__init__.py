"""The methods, one driver each: the file that a reader opens first."""

from typing import Any

from dancfr.config import Config
from dancfr.errors import UsageError, nearest
from dancfr.options import TrainOptions
from dancfr.runs import Run
from dancfr.tracking import Tracker

METHODS = ("dream", "dmc", "cheat-cfr", "belief-tables", "depth-limited", "value-net")


def train(run: Run, method: str, config: Config, tracker: Tracker, options: TrainOptions) -> dict[str, Any]:
    """Runs a method to its end; see the `train` of its driver.

    Raises:
        UsageError: there is no such method, or the configuration is not one of it.
    """
    if method == "dream":
        from dancfr.experiments.config import DreamConfig
        from dancfr.experiments.dream import train as train_dream

        if not isinstance(config, DreamConfig):
            raise UsageError(f"method dream needs a DreamConfig, not a {type(config).__name__}")
        return train_dream(run, config, tracker, options)
    if method == "dmc":
        from dancfr.experiments.dmc import train as train_dmc
        from dancfr.experiments.dmc_config import DmcConfig

        if not isinstance(config, DmcConfig):
            raise UsageError(f"method dmc needs a DmcConfig, not a {type(config).__name__}")
        return train_dmc(run, config, tracker, options)
    if method == "cheat-cfr":
        from dancfr.experiments.cheat_cfr import train as train_cheat_cfr
        from dancfr.experiments.cheat_cfr_config import CheatCfrConfig

        if not isinstance(config, CheatCfrConfig):
            raise UsageError(f"method cheat-cfr needs a CheatCfrConfig, not a {type(config).__name__}")
        return train_cheat_cfr(run, config, tracker, options)
    if method == "belief-tables":
        from dancfr.experiments.belief_tables import train as train_belief_tables
        from dancfr.experiments.belief_tables_config import BeliefTablesConfig

        if not isinstance(config, BeliefTablesConfig):
            raise UsageError(f"method belief-tables needs a BeliefTablesConfig, not a {type(config).__name__}")
        return train_belief_tables(run, config, tracker, options)
    if method == "depth-limited":
        from dancfr.experiments.depth_limited import train as train_depth_limited
        from dancfr.experiments.depth_limited_config import DepthLimitedConfig

        if not isinstance(config, DepthLimitedConfig):
            raise UsageError(f"method depth-limited needs a DepthLimitedConfig, not a {type(config).__name__}")
        return train_depth_limited(run, config, tracker, options)
    if method == "value-net":
        from dancfr.experiments.value_net import train as train_value_net
        from dancfr.experiments.value_net_config import ValueNetConfig

        if not isinstance(config, ValueNetConfig):
            raise UsageError(f"method value-net needs a ValueNetConfig, not a {type(config).__name__}")
        return train_value_net(run, config, tracker, options)
    raise UsageError(nearest(method, METHODS, "method"))
