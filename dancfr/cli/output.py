"""Output of the commands: one JSON object for scripts or tables for people; all else goes to standard error."""

import io
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from dancfr.errors import printable, warn
from dancfr.notebooks import percent
from dancfr.values import show

Result = dict[str, Any]
LEAST_WIDTH = 40
"""Width of a column that is wrapped, in a terminal that is too narrow for the columns before it."""


def deliver(compute: Callable[[], Result], as_json: bool, describe: Callable[[Result], str]) -> None:
    """Computes the result of a command and prints it to standard output.

    During the computation whatever games and agents print goes to standard error, since standard output is reserved
    for the result.

    Args:
        compute: Function that computes the result.
        as_json: Print one JSON object instead of text.
        describe: Function that formats the result as text.
    """
    printed = _Printed()
    try:
        with redirect_stdout(printed):
            result = compute()
    finally:
        printed.finish()
    if as_json:
        from dancfr.runs.metrics import plain

        text = json.dumps(plain(result), allow_nan=False)
    else:
        text = describe(result)
    print(text, flush=True)


class _Printed(io.TextIOBase):
    """Writes whole lines to standard error, except those of Ray's own processes, which the worker pool reports."""

    def __init__(self) -> None:
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = f"{self._begun}{text}".split("\n")
        for line in lines:
            if "(raylet" not in line:
                warn(line)
        return len(text)

    def finish(self) -> None:
        """Ends the last line."""
        if self._begun:
            self.write("\n")


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], wrap: bool = False) -> str:
    """Formats the named columns as an aligned table with a header line.

    Args:
        rows: The rows, by column.
        columns: Names of the columns.
        wrap: Whether texts in the last column are broken to fit into the terminal, if there is one.
    """
    cells = [list(columns), *([printable(show(row.get(column, ""))) for column in columns] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    before = sum(widths[:-1]) + 2 * (len(columns) - 1)
    wide = get_terminal_size((0, 0)).columns if wrap else 0
    lines = []
    for *first, last in cells:
        begun = "".join(f"{cell.ljust(width)}  " for cell, width in zip(first, widths, strict=False))
        parts = textwrap.wrap(last, max(wide - before, LEAST_WIDTH), break_on_hyphens=False) if wide else [last]
        lines += [begun + "".join(parts[:1]), *(" " * before + part for part in parts[1:])]
    return "\n".join(line.rstrip() for line in lines)


def describe_training(result: Result) -> str:
    """Formats the result of `dancfr train`."""
    from dancfr.values import count
    from dancfr.watch.progress import duration
    from dancfr.watch.strength import describe_each

    lines = [
        f"{result['run_dir']}: {count(result['iterations'], 'iteration')} in "
        f"{duration(result['seconds'])} of training, {result['samples']:,} samples"
    ]
    return "\n".join([*lines, *(f"  {line}" for line in describe_each(result["metrics"]))])


def describe_match(result: Result) -> str:
    """Formats the result of `dancfr evaluate`."""
    if not result["games"]:
        return "\n".join([f"{result['agent']} in {result['game']}, without a match:", *_exploitability(result)])
    low, high = result["ci95"]
    games, mean, constant = result["games"], result.get("mean_return"), result.get("constant_sum", True)
    stakes = result.get("stakes") is not None  # returns count, not games won
    sized = mean is not None and (stakes or not constant or differ_in_size(mean, result))
    ends = result.get("mean_return_ci95")
    returned = f"mean return {mean:+.3g} per game" if sized else ""
    returned += f" (95 % interval {ends[0]:+.3g} to {ends[1]:+.3g})" if sized and ends else ""
    counts = f"{result['wins']:,} won, {result['draws']:,} drawn, {result['losses']:,} lost"
    lines = [
        f"{result['agent']} against {result['against']}: {returned + '; ' if stakes else ''}wins "
        f"{percent(result['win_rate'])} of {games:,} games of {result['game']} (95 % interval {percent(low)} to "
        f"{percent(high)}): {counts}; {_pace(result['games_per_second'])}"
    ]
    if "ci95_pairs" in result:
        low, high = result["ci95_pairs"]
        lines.append(f"by deals, each played from both sides: 95 % interval {percent(low)} to {percent(high)}")
    if "equal_share" in result:
        lines.append(_equal_share(result["equal_share"], len(result["seats"])))
    if sized and not stakes:
        lines.append(returned)
    if not constant:
        lines.append("the returns of a game have no constant sum: a return above the mean of the players counts as won")
    seats = [
        {"seat": seat, "games": f"{counts['games']:,}"}
        | {label: percent(counts[key] / counts["games"]) for label, key in _OUTCOMES.items()}
        for seat, counts in result.get("seats", {}).items()
        if counts["games"]
    ]
    endings = [
        {"outcome": name.removesuffix(" by over"), "games": f"{count:,}", "share": percent(count / games)}
        for name, count in result.get("categories", {}).items()
    ]
    if "exploitability" in result:
        lines += _exploitability(result)
    lines += [f"\n{table(rows, list(rows[0]))}" for rows in (seats, endings) if rows]
    if "reading" in result:
        lines += _reading(result["reading"], result["agent"], result["against"])
    return "\n".join(lines)


def _reading(reading: Mapping[str, Any], agent: str, against: str) -> list[str]:
    """Describes how many secrets of an agent were read from its play."""
    rows = [
        {
            "ply": each["ply"],
            "games": f"{each['games']:,}",
            "read right [95 % interval]": f"{percent(each['accuracy'])} [{percent(each['ci95'][0])}, "
            f"{percent(each['ci95'][1])}]",
            "by chance": percent(each["chance"]),
        }
        for each in reading["plies"]
    ]
    title = (
        f"\n{reading['secret']} ({' or '.join(reading['values'])}) of {agent}, read from its play against {against} "
        f"by a logistic regression fitted on {reading['fitted_on']:,} other games:"
    )
    few = f"{title} too few games to fit a reader: set --games to 50 or more"
    return [title, table(rows, list(rows[0]))] if rows else [few]


def _pace(per_second: float) -> str:
    return f"{per_second:.0f} games/s" if per_second >= 1 else f"{1 / max(per_second, 1e-9):.1f} s a game"


def _equal_share(share: float, seats: int) -> str:
    """Describes the reference value for the win rate of one agent against several copies of another."""
    text = f"one agent against {seats - 1} of the other: a seat drawn at random won {percent(share)} of these games"
    return text if abs(share - 1 / seats) < 1e-9 else f"{text}; one winner each would make it {percent(1 / seats)}"


def describe_solution(result: Result) -> str:
    """Formats the result of `dancfr solve`."""
    public = "" if result["public_states"] is None else f", {result['public_states']:,} public states"
    lines = [
        f"{result['game']}: {result['nodes']:,} nodes, {' and '.join(f'{n:,}' for n in result['infosets_by_player'])} "
        f"infosets{public}; tree of {result['tree_megabytes']:.3g} MB in {result['tree_seconds']:.2g} s",
    ]
    if result["curve"]:
        lines.append(
            f"{result['algorithm']}: {result['iterations']:,} iterations, "
            f"{result['iterations_per_second']:,.0f} a second"
        )
    return "\n".join([*lines, *_exploitability(result), *result.get("files", [])])


def _value(result: Result) -> str:
    """Describes the value of a policy: of player 0 where that determines the other's, else of each player."""
    if "values" in result:
        gains = ", ".join(f"{gain:.6g}" for gain in result["gains"])
        return f"values of the players {', '.join(f'{value:+.6g}' for value in result['values'])}, gains {gains}"
    constant = result.get("returns_sum") or 0.0
    shifted = f", where the returns of both sum to {constant:g}" if constant else ""
    digits = "f" if abs(result["value"]) >= 1e-6 or not result["value"] else "g"
    return f"value {result['value']:+.10{digits}} for player 0, both playing this{shifted}"


def _exploitability(result: Result) -> list[str]:
    lines = [
        _value(result),
        f"exploitability {result['exploitability']:.6g}, NashConv {result['nash_conv']:.6g} "
        f"({result['normalised']['exploitability']:.3g} and {result['normalised']['nash_conv']:.3g} of the largest "
        f"return, {result['max_utility']:g})",
    ]
    if (uniform := result.get("uniform_exploitability")) is not None:
        lines.append(f"for comparison: uniform play has an exploitability of {uniform:.4g}")
    if "completed" in result:
        lines.append(
            f"that is of the trunk, cut at {result['limit']}, {result['limit_public_states']} public states; with the "
            f"bottom solved below it exploitability {result['completed']['exploitability']:.6g}"
        )
    if "last_iterate" in result:
        lines.append(f"last iterate: exploitability {result['last_iterate']['exploitability']:.6g}")
    return lines


def describe_exploit(result: Result) -> str:
    """Formats the result of `dancfr exploit`."""
    low, high = result["value_ci95"]
    seats = ", ".join(f"{part['value']:+.4f} moving {name}" for name, part in result["seats"].items())
    if "win_rate" in result:  # a team's response
        least, most = map(percent, result["win_rate_ci95"])
        seats = f"{percent(result['win_rate'])} of them won, {least} to {most}"
    if result["exact"]:
        return (
            f"a best response to {result['agent']} wins {result['value']:+.5f} a game ({seats}), "
            f"or up to {high - low:.5f} more\nexploitability {result['exploitability']:.5f}, NashConv "
            f"{result['nash_conv']:.5f}; computed in {result['seconds']:.0f} s"
        )
    from dancfr.evaluation.effort import count, describe_curve, describe_effort, describe_known

    effort = describe_effort(result["cpu_seconds"] / 60, result["decisions"])
    lines = [
        f"a response to {result['agent']} wins {result['value']:+.4f} a game (95 % interval {low:+.4f} to {high:+.4f} "
        f"in {result['eval_games']:,} games; {seats}), trained on {result['games']:,} games: {effort}, all starts and "
        "the measurement included",
        f"exploitability is at least {result['exploitability_at_least']:.4f} with 97.5 % confidence; the estimate of "
        f"that bound is {result['exploitability_lower_bound']:.4f}, of NashConv {result['nash_conv_lower_bound']:.4f} "
        f"(largest return {result['max_return']:g})",
    ]
    lines[1:1] = describe_known(result)
    if "exact_exploitability" in result:
        share = result["found_share"]
        all_of = "all" if share is not None and share > 1 else percent(share or 0.0)  # more than all is chance
        wins = "" if share is None else f": the response wins {all_of} of what a best response does"
        lines.append(f"exactly it is {result['exact_exploitability']:.4f}{wins}")
    rows = [
        {
            "start": each["start"],
            "decisions": count(int(each["curve"][-1][0])),
            "CPU s": f"{each['curve'][-1][1]:.0f}",
            "return of a game (after decisions)": describe_curve(each["curve"]),
        }
        for each in result["start_curves"]
        if each["curve"]
    ]
    lines += [f"\n{table(rows, list(rows[0]))}"] if rows else []
    return "\n".join([*lines, *result.get("files", [])])


def differ_in_size(mean: float, match: Mapping[str, Any]) -> bool:
    """Whether games returned other values than 1, 0 and -1, so that the win rate does not determine the mean return."""
    return bool(abs(mean - (match["wins"] - match["losses"]) / match["games"]) > 1e-9)


FEW = 3
"""More figures than these are not listed one by one."""
_OUTCOMES = {"won": "wins", "drawn": "draws", "lost": "losses"}


def describe_decisions(result: Result) -> str:
    """Describes the result of `dancfr decisions`."""
    low, high = result["ci95"]
    names = list(result["situations"][-1]["gains"])
    rows = []
    for each in result["situations"]:
        gains = [each["gains"].get(name) for name in names]
        rows.append(
            {
                "situation": each["situation"],
                "decisions": each["decisions"],
                "different": percent(each["differ"] / max(each["decisions"], 1)),
                "judged": max((gain["judged"] for gain in gains if gain), default=0),
                **{f"rest by {name}": _gain(gain) for name, gain in zip(names, gains, strict=True)},
            }
        )
    lines = [
        f"{result['agent']} won {percent(result['win_rate'])} [{percent(low)}, {percent(high)}] of "
        f"{result['games']} games against {result['beside']}",
        f"gain per decision where the agent deviates from {result['beside']}:",
        table(rows, list(rows[0])),
    ]
    return "\n".join(lines + ([f"page: {result['page']}"] if result["page"] else []))


def _gain(gain: Mapping[str, Any] | None) -> str:
    return "-" if gain is None else f"{gain['mean']:+.2f} [{gain['ci95'][0]:+.2f}, {gain['ci95'][1]:+.2f}]"


def describe_files(result: Result) -> str:
    """Formats the list of written files of `dancfr report` and `dancfr reproduce`."""
    rows = [
        {name: "" if cell is None else _inline(cell) for name, cell in row.items()} for row in result.get("rows", [])
    ]
    lines = [table(rows, list(rows[0]))] if rows else []
    lines += [f"warning: {warning}" for warning in result.get("warnings", [])]
    files = [Path(file) for file in result.get("files", [])]
    figures = [file for file in files if file.suffix == ".png"]
    if len(figures) > FEW:
        files = [file for file in files if file not in figures]
        lines.append(f"{len(figures)} figures in {figures[0].parent}")
    return "\n".join([*lines, *map(str, files)])


def describe_bench(result: Result) -> str:
    """Formats the result of `dancfr bench`."""
    lines = []
    for row in (result, *result.get("others", ())):
        case = f", {row['case']}" if row.get("case") else ""
        lines += [
            f"{row['name']}{case}: {_number(row['rate'])} {row['unit']}"
            f" (limit {_number(row['limit'])}, ratio {_number(row['ratio'])})"
        ]
        lines += [f"  {name}: {_inline(value)}" for name, value in row.get("detail", {}).items()]
    return "\n".join(lines)


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_inline(part)}" for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_inline(part) for part in value) + "]"
    return _number(value)


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return show(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{round(value):,}"
    return f"{value:.3g}"
