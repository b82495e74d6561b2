"""A policy over candidates of listed actions: PPO with a critic of all hands (DanZero+, Zhao et al. 2023)."""

from functools import partial

from dancfr.methods.candidate_policy.config import PRESETS, CandidatePolicyConfig
from dancfr.methods.curves import APART_KEYS, CLIPPED, LISTED, Curves, divergence, entropy, explained
from dancfr.methods.method import Method, lazily
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={"self-play": "time/selfplay_s", "policy and critic": "time/value_s", **APART_KEYS},
    overlap="policy and critic are fitted beside the next self-play with overlap=true",
    counted="A fit counts where its weights are first used.",
    metrics=(
        entropy("Entropy of the policy", "Entropy over the proposals"),
        explained("How much of the variance of its targets the critic explains"),
        CLIPPED,
        divergence({"From the policy that played": "learner/divergence"}),
        *LISTED,
    ),
)

METHOD = Method(
    name="candidate-policy",
    config=CandidatePolicyConfig,
    train=lazily("dancfr.methods.candidate_policy.driver:train"),
    load_agent=partial(lazily("dancfr.methods.listed_agent:load_agent"), CandidatePolicyConfig),
    pack=partial(lazily("dancfr.methods.listed_agent:pack"), CandidatePolicyConfig),
    presets=PRESETS,
    speed=Speed("selfplay/decisions_per_second", "decisions", "in self-play"),
    samples="samples/values",
    age="selfplay/age",
    stored_with="evaluation",
    curves=CURVES,
)
