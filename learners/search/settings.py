"""Settings of the search at play time. They are options of an agent's name, such as ``runs/x?search=512&depth=8``."""

from typing import Self

from pydantic import Field, model_validator

from learners.settings import Settings


class RolloutSettings(Settings):
    """How an agent searches before it moves, see `learners.search.rollouts`.

    Attributes:
        search: Roll-outs of a decision, of all its candidates together. The result depends on the seed alone.
        ms: Milliseconds of a decision, instead of `search`. Games that are played together share their time.
        candidates: Actions that are tried, at most one for each roll-out: those with the highest probability in the
            agent's policy.
        depth: Plies of a roll-out after the candidate. At its end stands the value of the position.
        trace: Lambda: the return of a roll-out is an average of the values at all depths, in which each ply counts
            this share of the ply before; 1: the value at the end alone.
        worlds: Arrangements of what is hidden, drawn for a round of roll-outs.
        doubt: Share of uniform moves that beliefs expect of the opponent. With 1 beliefs rule out only arrangements
            under which a move would not have been legal. A belief that is learned, as that of GuanDan, is used below 1
            as it is.
        playouts: Share of a quick play-out by a fixed rule in each value of a roll-out, in games that have such a rule
            (`envs.capabilities.PlaysOut`); the critic has the rest.
        temperature: Weight of the policy: the action a with the greatest Q(a) + temperature * log policy(a) is played.
        confidence: A candidate is given up when it is this number of standard errors behind the best one.
    """

    search: int | None = Field(None, ge=1, le=10_000_000)
    ms: float | None = Field(None, gt=0, le=600_000)
    candidates: int = Field(4, ge=1, le=1000)
    depth: int = Field(16, ge=0, le=1000)
    trace: float = Field(0.8, ge=0, le=1)
    worlds: int = Field(8, ge=1, le=10_000)
    doubt: float = Field(0.2, ge=0, le=1)
    playouts: float = Field(0.3, ge=0, le=1)
    temperature: float = Field(0.02, ge=0, le=100)
    confidence: float = Field(3.0, ge=0, le=100)

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        if (self.search is None) == (self.ms is None):
            raise ValueError("a search needs search=ROLLOUTS or ms=MILLISECONDS, and not both")
        return self
