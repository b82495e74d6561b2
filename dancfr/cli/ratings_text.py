"""Text of the commands that rate agents: `dancfr tournament` and `dancfr league`."""

from dancfr.cli import output
from dancfr.notebooks import percent


def describe_tournament(result: output.Result) -> str:
    """Formats the result of `dancfr tournament`: a cross-table of win rates or of mean returns, and ratings."""
    from dancfr.agents.tournament import SEVERAL, by_returns, describe_cell

    told = "return [95 % interval]" if by_returns(result) else "won, in % [95 % interval]"
    agents, cells, rated = result["agents"], result["table"], result["ratings"]
    rows = []
    for row in agents:
        line = {told: row}
        for column in agents:
            found = cells[row].get(column)
            line[f"against {column}"] = describe_cell(found) if found else "-"
        rows.append(line | ({"rating": f"{rated[row]:+.0f}"} if rated else {}))
    seats = "" if rated else f": {SEVERAL}"
    lines = [f"{result['games']:,} games of {result['game']} each{seats}", "", output.table(rows, list(rows[0]))]
    if not by_returns(result) and any(output.differ_in_size(pair["mean_return"], pair) for pair in result["pairs"]):
        lines += ["", "win rates and ratings count games, not how much is won in them; mean return per game:"]
        lines += [f"  {pair['agent']} against {pair['against']}: {describe_cell(pair)}" for pair in result["pairs"]]
    return "\n".join(lines)


def describe_league(result: output.Result) -> str:
    """Formats the result of `dancfr league`: ratings, win rates by place, and how well the ratings fit."""
    ratings, cells, by_returns = result["ratings"], result["table"], result["stakes"] is not None
    names = [each["agent"] for each in ratings]
    rows = []
    for place, each in enumerate(ratings, 1):
        low, high = each["ci95"]
        row = {
            "": place,
            "agent": each["agent"],
            "Elo [95 % interval]": f"{each['rating']:+.0f} [{low:+.0f}, {high:+.0f}]",
        }
        row["games"] = f"{each['games']:,}"
        for column, name in enumerate(names, 1):
            found = cells[each["agent"]].get(name)
            share = "" if found is None else f"{100 * found['win_rate']:.1f}"
            row[f"v {column}"] = "-" if found is None else f"{found['mean_return']:+.3g}" if by_returns else share
        rows.append(row)
    lines = [
        f"{result['games']:,} games of {result['game']}, {result['games_now']:,} of them now; Elo relative to the "
        f"mean; {'mean return' if by_returns else 'games won in %'} against the agent of each place",
        f"\n{output.table(rows, list(rows[0]))}\n",
        *_fit_of_ratings(result),
        "next: " + ", ".join(f"{one} against {other}" for one, other in result["next"][:3]),
    ]
    return "\n".join([*lines, *result["files"]])


def _fit_of_ratings(result: output.Result) -> list[str]:
    """Describes how far the results are from those that the ratings expect."""
    fit = result["fit"]
    lines = [
        f"scores differ from what the ratings expect by {100 * fit['deviation']:.1f} points (root mean square over "
        f"pairs), where chance alone would give {100 * fit['noise']:.1f}"
    ]
    if (worst := fit["worst"]) is not None:
        names = (worst["agent"], worst["against"])
        pair = next(each for each in result["pairs"] if {each["agent"], each["against"]} == set(names))
        shares = [pair["score"], pair["expected"]]
        score, expected = shares if pair["agent"] == names[0] else [1 - share for share in shares]
        lines.append(
            f"largest: {names[0]} scores {percent(score)} against {names[1]}, where {percent(expected)} are expected "
            f"({worst['residual']:.1f} standard deviations)"
        )
    return lines
