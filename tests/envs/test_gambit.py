"""Gambit's files, as Gambit and others write them, through OpenSpiel."""

from pathlib import Path

import pytest

pytest.importorskip("pyspiel")

from open_spiel.python.algorithms.gambit import export_gambit

from envs.openspiel import load_openspiel, openspiel_tree, to_efg
from envs.openspiel.gambit import BadGambit, for_openspiel
from envs.openspiel.loading import moves_of
from envs.tree import Tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.sequence_form import sequence_form

HEAD = 'EFG 2 R "pennies" { "A" "B" }\n'
ENDS = 't "" 1 "" {{ {0} }}\nt "" 2 "" {{ {1} }}\n{second}\nt "" 2 "" {{ {1} }}\nt "" 1 "" {{ {0} }}\n'
PLAIN = 'p "" 2 1 "y" { "H" "T" } 0'


def pennies(first: str, upper: str = PLAIN, lower: str = PLAIN) -> str:
    """Matching pennies, by the lines of the first player's node and of the two nodes of the second player."""
    return HEAD + first + "\n" + upper + "\n" + ENDS.format("1 -1", "-1 1", second=lower)


LAST = 't "" 2 "" { -1 1 }\nt "" 1 "" { 1 -1 }\n'
FIRST = 'p "" 1 1 "x" { "H" "T" } 0'
WRITINGS = {
    "plain": pennies(FIRST),
    "without names": pennies(FIRST, 'p "" 2 1 "" { "H" "T" } 0', 'p "" 2 1 { "H" "T" } 0'),
    "a name at the first node": pennies(FIRST, PLAIN, 'p "" 2 1 "" { "H" "T" } 0'),
    "a name at the last node": pennies(FIRST, 'p "" 2 1 "" { "H" "T" } 0', PLAIN),
    "actions once": pennies(FIRST, PLAIN, 'p "" 2 1 "y" 0'),
    "only the number": pennies(FIRST, PLAIN, 'p "" 2 1 0'),
    "equal labels": pennies('p "" 1 1 "x" { "H" "H" } 0', *['p "" 2 1 "y" { "" "" } 0'] * 2),
    "labels that a count would repeat": pennies(
        'p "" 1 1 "x" { "H" "H (2)" } 0', *['p "" 2 1 "y" { "H (2)" "H (2)" } 0'] * 2
    ),
    "numbers from 7": pennies('p "" 1 9 "" { "H" "T" } 0', *['p "" 2 7 "" { "H" "T" } 0'] * 2),
    "tabs, commas and a comment": pennies(FIRST)
    .replace(" { ", "\t{\t")
    .replace("1 -1", "1.0,-1e0")
    .replace("}\n", '}\n"C"\n', 1),
    "quotes in labels": pennies(r'p "the \"root\"" 1 1 "x" { "\"" "\\" } 0'),
    "payoffs by number": pennies(FIRST).removesuffix(LAST) + 't "" 2\nt "" 1\n',
    "payoffs at inner nodes": pennies(
        FIRST, 'p "" 2 1 "y" { "H" "T" } 3 "" { 1/2 -1/2 }', 'p "" 2 1 "y" { "H" "T" } 4 "" { -0.5 0.5 }'
    ),
    "a version for decimals": pennies(FIRST).replace("2 R", "2 D"),
}


def solved(tree: Tree) -> float:
    form = sequence_form(tree)
    equilibrium = solve_linear_program(form)
    assert evaluate_policy(form, equilibrium.policy).exploitability < 1e-9
    return equilibrium.value


@pytest.mark.parametrize("text", WRITINGS.values(), ids=WRITINGS)
def test_matching_pennies_are_the_same_game_in_every_writing(text: str, tmp_path: Path) -> None:
    file = tmp_path / "pennies.efg"
    file.write_text(text)
    for game in (text, f"efg_game(filename={file})"):
        tree = openspiel_tree(game)
        assert (tree.num_nodes, tree.num_infosets) == (7, (1, 1))
        assert solved(tree) == pytest.approx(0, abs=1e-12)


def test_payoffs_at_inner_nodes_count() -> None:
    assert 't "" 3 "" { 1.5 -1.5 }' in for_openspiel(WRITINGS["payoffs at inner nodes"])


def test_outcomes_of_chance_with_one_label_are_told_apart() -> None:
    """A coin that wins 3 for player 1 with probability 1/4, in both nodes under one number."""
    coin = 'c "" 1 "" { "" 1/4 "" 3/4 } 0\nt "" 1 "" { 3 -3 }\nt "" 2 "" { -1 1 }\n'
    biased = 'c "" 1 "" { "" 1/8 "" 7/8 } 0\nt "" 1\nt "" 2\n'
    text = HEAD + FIRST + "\n" + coin + biased
    root = load_openspiel(text).new_initial_state()
    assert [moves_of(root.child(action)) for action in root.legal_actions()] == [
        [(0, 0.25), (1, 0.75)],
        [(0, 0.125), (1, 0.875)],
    ]
    assert solved(openspiel_tree(text)) == 0


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=2)"])
def test_games_that_openspiel_exports_keep_their_values(name: str) -> None:
    theirs = openspiel_tree(name)
    ours = openspiel_tree(export_gambit(load_openspiel(name)))
    assert (ours.num_nodes, ours.num_infosets) == (theirs.num_nodes, theirs.num_infosets)
    assert solved(ours) == pytest.approx(solved(theirs), abs=1e-9)
    again = openspiel_tree(to_efg(ours))
    assert (again.num_nodes, again.num_infosets) == (theirs.num_nodes, theirs.num_infosets)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            pennies(FIRST, PLAIN, 'p "" 2 1 "z" { "H" "T" } 0'),
            "line 6: information set 1 of player 2 is named 'z', and",
        ),
        (
            pennies(FIRST, PLAIN, 'p "" 2 1 "y" { "T" "H" } 0'),
            "line 6: information set 1 of player 2 has the actions ['T'",
        ),
        (pennies(FIRST, 'p "" 2 1 0'), "line 3: '{' was expected, got '0'"),
        (pennies(FIRST, 'p "" 3 1 "y" { "H" "T" } 0'), "line 3: a player from 1 to 2 was expected, got 3"),
        (pennies(FIRST, 'p "" 2 1 "y" { "H" "T" }'), "line 4: the number of an outcome was expected, got 't'"),
        (pennies(FIRST).removesuffix(LAST), "it ends where 'c' or 'p' or 't' was expected"),
        (pennies(FIRST) + FIRST, "line 9: the end of the game was expected, got 'p'"),
        (pennies(FIRST).replace("{ 1 -1 }", "{ 1 x }"), "line 4: a payoff was expected, got 'x'"),
        (pennies(FIRST).replace("{ 1 -1 }", "{ 1 -1/0 }"), "line 4: a payoff was expected, got '-1/0'"),
        (pennies(FIRST).replace("{ 1 -1 }", "{ 1 -1e999 }"), "line 4: a payoff was expected, got '-1e999'"),
        (pennies(FIRST).replace("{ 1 -1 }", "{ 2 -2 }", 1), "line 8: outcome 1 has other payoffs than above"),
        (
            pennies(FIRST).replace('t "" 1', 't "" 5', 1).replace('"" { 1 -1 }', "", 1),
            "line 5: the payoffs of outcome 5 ",
        ),
        (
            HEAD + 'c "" 1 "" { "a" 1/2 "b" 1/3 } 0\n',
            "line 2: the probabilities of information set 1 of chance sum to 0.83",
        ),
        (HEAD + 'p "root', "line 2: a quote is not closed"),
        ("EFG 1 R", "line 1: version 2 of the format was expected, got 1"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused_by_its_line(text: str, says: str) -> None:
    with pytest.raises(BadGambit) as caught:
        for_openspiel(text)
    assert str(caught.value).startswith(says)
    with pytest.raises(ValueError, match=r"^OpenSpiel refuses 'EFG ") as refused:
        load_openspiel(text)
    assert str(caught.value) in str(refused.value)
