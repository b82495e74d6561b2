// The texts of Cheat, and the words for its moves.

const FACES = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"];

export const face = (rank) => FACES[rank];
export const faces = (ranks) => ranks.map(face).join(" ");

export const texts = {
  en: {
    "game.cheat": "Cheat", "game.mini-cheat": "Mini-Cheat",
    "cheat.health": "{n} of {of} health points", "cheat.cards": "{n} in hand", "cheat.put": "{n} in the pile", "cheat.pile": "Pile: {n}",
    "cheat.claims": "claims {n} × {rank}", "cheat.passed": "passes", "cheat.challenged": "challenges!", "cheat.ranks": "Ranks in turn; the marked one is claimed now",
    "cheat.claim": "{player}: “{n} × {rank}”", "cheat.to lay": "Lay cards face down as {rank}.", "cheat.will lay": "{player} lays cards as {rank}.", "cheat.over": "The game has ended.",
    "cheat.shown": "The last challenge", "cheat.challenge of": "{challenger} challenged “{n} × {rank}” by {player}:", "cheat.true": "True.", "cheat.lie": "A lie.",
    "cheat.takes": "{player} takes the pile of {n}.", "cheat.you take": "You take the pile of {n}.", "cheat.point": "That costs a health point.",
    "cheat.hand": "Your hand, {n} cards", "cheat.no cards": "No cards left.", "cheat.card": "{rank}, card {i} of {n}", "cheat.pass": "Pass", "cheat.challenge": "Challenge: “Cheat!”",
    "cheat.held": "You hold {n} × {rank}.", "cheat.choose": "Choose 1 to {n} cards.", "cheat.wait": "Wait for the others; you may choose cards already.",
    "cheat.lay": "Lay {n} as {rank}", "cheat.picked": "already picked: {cards}",
    "cheat.log lay": "“{n} × {rank}”", "cheat.log lay own": "“{n} × {rank}”, lays {cards}", "cheat.log pick": "picks a card", "cheat.log pick own": "picks {cards}", "cheat.log stop": "lays the picked cards",
    "cheat.log challenge true": "challenges: {cards}, true; pile of {n}: {player}", "cheat.log challenge lie": "challenges: {cards}, a lie; pile of {n}: {player}",
    "ending.hand empty": "a hand is empty", "ending.health gone": "no health points left", "ending.ply limit": "the number of moves is used up",
  },
  ja: {
    "game.cheat": "ダウト", "game.mini-cheat": "ミニダウト",
    "cheat.health": "ライフ {n}／{of}", "cheat.cards": "手札{n}枚", "cheat.put": "場に{n}枚", "cheat.pile": "場の札：{n}枚",
    "cheat.claims": "「{rank}を{n}枚」", "cheat.passed": "パス", "cheat.challenged": "ダウト！", "cheat.ranks": "数字の順番。印が今の数字です",
    "cheat.claim": "{player}「{rank}を{n}枚」", "cheat.to lay": "{rank}として裏向きに出してください。", "cheat.will lay": "{player}が{rank}を出す番です。", "cheat.over": "ゲームが終わりました。",
    "cheat.shown": "前回のダウト", "cheat.challenge of": "{player}の「{rank}を{n}枚」に{challenger}がダウト：", "cheat.true": "本当です。", "cheat.lie": "うそです。",
    "cheat.takes": "{player}が場の札{n}枚を引き取ります。", "cheat.you take": "あなたが場の札{n}枚を引き取ります。", "cheat.point": "ライフを1失います。",
    "cheat.hand": "あなたの手札、{n}枚", "cheat.no cards": "手札はありません。", "cheat.card": "{rank}（{n}枚中{i}枚目）", "cheat.pass": "パス", "cheat.challenge": "ダウト！",
    "cheat.held": "{rank}は手札に{n}枚。", "cheat.choose": "1〜{n}枚選んでください。", "cheat.wait": "ほかの人の番です。先に札を選んでおけます。",
    "cheat.lay": "{rank}として{n}枚出す", "cheat.picked": "選択済み：{cards}",
    "cheat.log lay": "「{rank}を{n}枚」", "cheat.log lay own": "「{rank}を{n}枚」（実際は {cards}）", "cheat.log pick": "札を選択", "cheat.log pick own": "{cards}を選択", "cheat.log stop": "選んだ札を出す",
    "cheat.log challenge true": "ダウト：{cards}、本当。{player}が{n}枚引き取る", "cheat.log challenge lie": "ダウト：{cards}、うそ。{player}が{n}枚引き取る",
    "ending.hand empty": "手札がなくなりました", "ending.health gone": "ライフがなくなりました", "ending.ply limit": "手数制限",
  },
  zh: {
    "game.cheat": "吹牛", "game.mini-cheat": "迷你吹牛",
    "cheat.health": "生命 {n}／{of}", "cheat.cards": "手牌{n}张", "cheat.put": "牌堆中{n}张", "cheat.pile": "牌堆：{n}张",
    "cheat.claims": "报“{n}张{rank}”", "cheat.passed": "过", "cheat.challenged": "质疑！", "cheat.ranks": "点数顺序，标出的是现在要报的点数",
    "cheat.claim": "{player}：“{n}张{rank}”", "cheat.to lay": "请扣着出牌，报{rank}。", "cheat.will lay": "轮到{player}出牌，报{rank}。", "cheat.over": "游戏结束。",
    "cheat.shown": "上一次质疑", "cheat.challenge of": "{challenger}质疑{player}的“{n}张{rank}”：", "cheat.true": "真的。", "cheat.lie": "吹牛！",
    "cheat.takes": "{player}收下牌堆{n}张。", "cheat.you take": "你收下牌堆{n}张。", "cheat.point": "失去1点生命。",
    "cheat.hand": "你的手牌，{n}张", "cheat.no cards": "没有手牌了。", "cheat.card": "{rank}（{n}张中的第{i}张）", "cheat.pass": "过", "cheat.challenge": "质疑！",
    "cheat.held": "你手里有{n}张{rank}。", "cheat.choose": "请选择1到{n}张牌。", "cheat.wait": "等待其他玩家，可以先选牌。",
    "cheat.lay": "出{n}张，报{rank}", "cheat.picked": "已选：{cards}",
    "cheat.log lay": "“{n}张{rank}”", "cheat.log lay own": "“{n}张{rank}”，实际出{cards}", "cheat.log pick": "选一张牌", "cheat.log pick own": "选{cards}", "cheat.log stop": "打出所选的牌",
    "cheat.log challenge true": "质疑：{cards}，真的；{player}收下{n}张", "cheat.log challenge lie": "质疑：{cards}，吹牛；{player}收下{n}张",
    "ending.hand empty": "手牌出完", "ending.health gone": "生命耗尽", "ending.ply limit": "步数已用完",
  },
};

/** A move of the history in the user's language. */
export function describe(event, api) {
  const cards = event.cards ? faces(event.cards) : "", words = { n: event.count, rank: face(event.rank), cards };
  if (event.kind === "lay") return api.t(cards ? "cheat.log lay own" : "cheat.log lay", words);
  if (event.kind === "pick") return api.t(event.card === null ? "cheat.log pick" : "cheat.log pick own", { cards: face(event.card) });
  if (event.kind === "challenge") {
    return api.t(`cheat.log challenge ${event.true ? "true" : "lie"}`, { cards, n: event.size, player: api.name(event.taker) });
  }
  return event.kind === "pass" ? api.t("cheat.pass") : event.label;
}

/** A choice in the user's language. */
export function move(choice, api) {
  if (choice.kind === "pick") return api.t("cheat.log pick own", { cards: face(choice.card) });
  if (choice.kind === "lay" && choice.cards) return api.t("cheat.log pick own", { cards: faces(choice.cards) });
  if (choice.kind === "stop") return api.t("cheat.log stop");
  return choice.kind === "pass" || choice.kind === "challenge" ? api.t(`cheat.${choice.kind}`) : choice.label;
}
