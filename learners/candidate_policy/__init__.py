"""Policies over the candidates of listed actions, learnt by PPO with a critic that sees all players' infostates."""
