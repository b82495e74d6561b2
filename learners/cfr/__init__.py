"""The tabular CFR family on explicit trees, exact best responses, and a linear program as their oracle."""
