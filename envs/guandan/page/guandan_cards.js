// Cards of GuanDan: plays written as words, orders of a hand, what wild cards stand for, and pictures.

import { svg } from "../draw.js";

const RANKS = "23456789TJQKA", RUN = `A${RANKS}`;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01"; // as in display/table.py
const CARDS = [...[...RANKS].flatMap((rank) => [..."HSCD"].map((suit) => suit + rank)), "SB", "HR"];
const KINDS = ["PASS", "Single", "Pair", "Trips", "ThreePair", "ThreeWithTwo", "TwoTrips", "Straight", "StraightFlush", "Bomb", "FourKings", "tribute", "back"];
const RUNS = { ThreePair: [3, 2], TwoTrips: [2, 3], Straight: [5, 1], StraightFlush: [5, 1] }; // ranks, cards of each

/** The play that a word of the server stands for. */
export function read(word) {
  return { kind: KINDS[word.charCodeAt(0) - 97], rank: word[1], cards: [...word.slice(2)].map((letter) => CARDS[LETTERS.indexOf(letter)]) };
}

export const keyOf = (cards) => [...cards].sort().join(" ");
export const isBomb = (kind) => ["Bomb", "StraightFlush", "FourKings"].includes(kind);

/** The place of a card in the order 2 .. A, level, jokers. */
export function value(card, level) {
  const rank = card[1];
  return rank === "R" ? 15 : rank === "B" ? 14 : rank === level ? 13 : RANKS.indexOf(rank);
}

/** The ranks of a sequence from its lowest one, in which the ace may be low. */
function ranksOf(kind, rank) {
  const first = RUN.indexOf(rank);
  return [...RUN.slice(first, first + RUNS[kind][0])];
}

/** What the wild cards of a play stand for: ranks, or cards in a straight flush; none where they are what they show. */
export function standIns({ kind, rank, cards }, level) {
  const natural = cards.filter((card) => card !== `H${level}`), wild = cards.length - natural.length;
  const count = (each) => natural.filter((card) => card[1] === each).length;
  if (wild === 0 || ["FourKings", "tribute", "back"].includes(kind)) return [];
  if (kind in RUNS) {
    const suit = kind === "StraightFlush" ? natural[0][0] : "";
    return ranksOf(kind, rank).flatMap((each) => Array(Math.max(0, RUNS[kind][1] - count(each))).fill(suit + each));
  }
  if (kind !== "ThreeWithTwo") return rank === level ? [] : Array(wild).fill(rank);
  const pair = natural.find((card) => card[1] !== rank)?.[1] ?? level, triple = Math.max(0, 3 - count(rank));
  return [...Array(triple).fill(rank), ...Array(wild - triple).fill(pair)];
}

/** A rank as it is written: 10 for T. */
export const rankName = (rank, t) => (rank === "T" ? "10" : rank === "B" || rank === "R" ? t(`joker${rank}`) : rank);
const SIGNS = { S: "♠", H: "♥", C: "♣", D: "♦" };

/** A card in a few characters: ♥10. */
export function sign(card, t) {
  return card.length === 1 || "BR".includes(card[1]) ? rankName(card.at(-1), t) : SIGNS[card[0]] + rankName(card[1], t);
}

/** A card as a screen reader says it: "Heart 2, wild". */
export function cardName(card, level, t) {
  if ("BR".includes(card[1])) return rankName(card[1], t);
  const name = t("card", { suit: t(`suit${card[0]}`), rank: rankName(card[1], t) });
  return card[1] !== level ? name : `${name}${t(card[0] === "H" ? "is_wild" : "is_level")}`;
}

/** A play in words: "straight 3–7", "bomb of 5: K". */
export function title({ kind, rank, cards }, t) {
  const run = kind in RUNS ? ranksOf(kind, rank) : [rank];
  const ranks = run.length > 1 ? `${rankName(run[0], t)}–${rankName(run.at(-1), t)}` : rank ? rankName(rank, t) : "";
  return t(kind, { rank: ranks, n: cards.length });
}

/** A play in words with its cards. */
export function told(play, t, level = null) {
  const cards = play.cards.length && play.kind !== "Single" ? `: ${play.cards.map((card) => sign(card, t)).join(" ")}` : "";
  const wild = level ? standIns(play, level) : [];
  return `${title(play, t)}${cards}${wild.length ? ` (${t("wild_as", { cards: wild.map((card) => sign(card, t)).join(" ") })})` : ""}`;
}

const SUIT_ORDER = "SHCD";

/** Items { card, id } by rank, the highest first. */
export function byRank(items, level) {
  const order = ({ card }) => 5 * value(card, level) + (card === `H${level}` ? 4 : 3 - SUIT_ORDER.indexOf(card[0]));
  return [...items].sort((a, b) => order(b) - order(a));
}

/** Items in groups: bombs and straight flushes, the strongest first, wild cards, then triples, pairs and single cards. */
export function byCombination(items, level) {
  const sorted = byRank(items, level), wild = sorted.filter((item) => item.card === `H${level}`);
  let rest = sorted.filter((item) => item.card !== `H${level}`);
  const take = (group) => {
    rest = rest.filter((item) => !group.includes(item));
    return group;
  };
  const groups = [], jokers = rest.filter((item) => "BR".includes(item.card[1]));
  if (jokers.length === 4) groups.push([100, take(jokers)]);
  for (let run = straightFlush(rest); run; run = straightFlush(rest)) groups.push([55, take(run)]);
  for (const rank of new Set(rest.map((item) => item.card[1]))) {
    const group = rest.filter((item) => item.card[1] === rank);
    groups.push([group.length < 4 ? group.length : 10 * group.length, group]);
  }
  if (wild.length) groups.push([9, wild]);
  const top = (group) => value(group[0].card, level);
  return groups.sort(([a, first], [b, second]) => b - a || top(second) - top(first)).map(([, group]) => group);
}

/** The natural straight flush that breaks the fewest groups and no bomb; null if there is none. */
function straightFlush(items) {
  const size = (rank) => items.filter((item) => item.card[1] === rank).length;
  let best = null, least = 3;
  for (const suit of SUIT_ORDER) {
    for (let first = 9; first >= 0; first -= 1) {
      const run = [...RUN.slice(first, first + 5)].map((rank) => items.find((item) => item.card === suit + rank));
      if (run.some((item) => item === undefined || size(item.card[1]) > 3)) continue;
      const broken = run.filter((item) => size(item.card[1]) > 1).length;
      if (broken < least) [best, least] = [run, broken];
    }
  }
  return best?.reverse() ?? null;
}

/** Plays to suggest: one of those that differ only in suits, those that cost the hand least first. */
export function suggestions(plays, hand, level) {
  const counts = {}, found = new Map();
  for (const card of hand) counts[card[1]] = (counts[card[1]] ?? 0) + 1;
  const shape = (card) => (card === `H${level}` ? "*" : card[1]);
  for (const play of plays) {
    const ranks = play.cards.map(shape).sort(), key = ranks.join("");
    if (found.has(key)) continue;
    const split = new Set(ranks.filter((rank) => rank !== "*" && counts[rank] > ranks.filter((each) => each === rank).length));
    const cost = [...split].reduce((sum, rank) => sum + (counts[rank] > 3 ? 3 : 1), 0);
    found.set(key, { play, cost: 100 * isBomb(play.kind) + 10 * ranks.filter((rank) => rank === "*").length + cost });
  }
  return [...found.values()].sort((a, b) => a.cost - b.cost).map((each) => each.play);
}

const PATHS = {
  H: "M12 22C5 15 2 12 2 8a5 5 0 0 1 10-2 5 5 0 0 1 10 2c0 4-3 7-10 14z",
  D: "M12 1l8 11-8 11-8-11z",
  S: "M12 1C8 7 2 10 2 15a5 5 0 0 0 9 2l-2 6h6l-2-6a5 5 0 0 0 9-2c0-5-6-8-10-14z",
  C: "M12 1a5 5 0 0 1 4 8 5 5 0 1 1-3 8l2 6H9l2-6a5 5 0 1 1-3-8 5 5 0 0 1 4-8z",
  "*": "M12 1l3 7 8 1-6 6 2 8-7-4-7 4 2-8-6-6 8-1z",
};
const suit = (name, x, y, scale, ink) => svg("path", { d: PATHS[name], transform: `translate(${x} ${y}) scale(${scale})`, fill: ink });

/** The picture of a card. The left half alone tells which card it is; wild cards have a star and a double edge. */
export function picture(card, level) {
  const red = "HD".includes(card[0]), ink = red ? "var(--card-red)" : "var(--card-ink)", wild = card === `H${level}`;
  const joker = "BR".includes(card[1]);
  const text = (words, y, size, fill = ink) => svg("text", { x: 11, y, "text-anchor": "middle", "font-size": size, "font-weight": 700, fill }, words);
  return svg("svg", { class: "guandan-face", viewBox: "0 0 40 56", "aria-hidden": "true" },
    svg("rect", { x: 0.75, y: 0.75, width: 38.5, height: 54.5, rx: 4, fill: "var(--card)", stroke: "var(--card-ink)", "stroke-width": 1 }),
    wild && svg("rect", { x: 2.75, y: 2.75, width: 34.5, height: 50.5, rx: 2.5, fill: "none", stroke: "var(--card-red)", "stroke-width": 1, "stroke-dasharray": "3 2" }),
    joker ? [
      red && svg("rect", { x: 4, y: 2.5, width: 14, height: 51, rx: 3, fill: ink }),
      [..."JOKER"].map((letter, i) => text(letter, 11 + 9.8 * i, 10, red ? "var(--card)" : ink)),
      svg("path", { d: "M19 45l-2-18 6 6 4.5-12L32 33l6-6-2 18z", fill: red ? ink : "none", stroke: ink, "stroke-width": 1.5 }),
      red && suit("*", 22, 6, 0.45, ink),
    ] : [
      text(rankName(card[1]), 16, card[1] === "T" ? 15 : 17),
      card[1] === level && svg("rect", { x: 5, y: 17.5, width: 12, height: 1.8, fill: ink }),
      suit(card[0], 4, 21, 0.58, ink),
      wild ? [suit("*", 4, 37, 0.58, ink), suit("*", 20, 29, 0.7, ink)] : suit(card[0], 18, 31, 0.8, ink),
    ]);
}
