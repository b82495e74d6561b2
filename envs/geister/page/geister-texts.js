// The texts of Geister, and the words for its moves.

export const LETTERS = "ABCDEFGH";

/** The name of a cell: a1 is on the left at the bottom as player 0 sees the board. */
export const nameOf = ([x, y], size) => `${"abcdef"[x]}${size - y}`;

export const texts = {
  en: {
    "game.geister": "Geister", "game.mini-geister": "Mini Geister",
    "geister.board": "Board", "geister.empty": "empty", "geister.own": "your {colour} ghost {ghost}", "geister.other": "opposing ghost {ghost}, {colour}",
    "geister.blue": "blue", "geister.red": "red", "geister.unknown": "unknown colour", "geister.move here": "move here", "geister.take here": "capture",
    "geister.choose": "can move", "geister.turn": "change colour", "geister.exit": "exit", "geister.escape here": "exit: leave the board with ghost {ghost}",
    "geister.hint": "Choose one of your ghosts, or drag it.", "geister.where": "Choose where it moves.", "geister.forced": "A blue ghost is at the exit: leave the board by the arrow.",
    "geister.is red": "{ghost} is red", "geister.setup": "Click your ghosts to make {n} of them red; your opponent will not see which.", "geister.count": "{n} of {of} red", "geister.draw": "Choose at random",
    "geister.confirm": "Begin with these colours", "geister.taken": "Captured by {player}", "geister.of": "{colour} ghost {ghost} of {player}", "geister.limit": "{ply} of {limit} moves; then a draw", "geister.can move": "{ghost} can move to {squares}",
    "geister.log": "{ghost} {from} → {to}", "geister.log takes": "{ghost} {from} → {to}, captures {colour} {other}", "geister.log escapes": "{ghost} leaves the board from {from}",
    "geister.log setup": "red: {ghosts}", "geister.log hidden": "has chosen the colours",
    "ending.escape": "a blue ghost has left the board", "ending.blues taken": "all blue ghosts of one side are captured",
    "ending.reds taken": "all red ghosts of one side are captured, whose owner wins", "ending.ply limit": "the number of moves is used up",
  },
  ja: {
    "game.geister": "ガイスター", "game.mini-geister": "ミニガイスター",
    "geister.board": "盤", "geister.empty": "空き", "geister.own": "自分の{colour}{ghost}", "geister.other": "相手のオバケ{ghost}（{colour}）",
    "geister.blue": "青オバケ", "geister.red": "赤オバケ", "geister.unknown": "色は不明", "geister.move here": "ここへ動かす", "geister.take here": "取る",
    "geister.choose": "動かせます", "geister.turn": "色を変える", "geister.exit": "脱出口", "geister.escape here": "脱出口：{ghost}で脱出する",
    "geister.hint": "動かすオバケを選ぶか、ドラッグしてください。", "geister.where": "動かす先を選んでください。", "geister.forced": "青オバケが脱出口にいます。矢印から脱出してください。",
    "geister.is red": "{ghost}が赤", "geister.setup": "自分のオバケをクリックして、{n}個を赤オバケにしてください。相手には見えません。", "geister.count": "赤オバケ {n}／{of}", "geister.draw": "おまかせ",
    "geister.confirm": "この配置で始める", "geister.taken": "{player}が取ったオバケ", "geister.of": "{player}の{colour}{ghost}", "geister.limit": "{limit}手で引き分け（現在{ply}手）", "geister.can move": "{ghost}の移動先：{squares}",
    "geister.log": "{ghost} {from}→{to}", "geister.log takes": "{ghost} {from}→{to}、{colour}{other}を取る", "geister.log escapes": "{ghost}が{from}から脱出",
    "geister.log setup": "赤オバケ：{ghosts}", "geister.log hidden": "配置を決めました",
    "ending.escape": "青オバケが脱出", "ending.blues taken": "一方の青オバケが全滅", "ending.reds taken": "赤オバケをすべて取らせた側の勝ち", "ending.ply limit": "手数制限",
  },
  zh: {
    "game.geister": "幽灵棋", "game.mini-geister": "迷你幽灵棋",
    "geister.board": "棋盘", "geister.empty": "空格", "geister.own": "己方{colour}{ghost}", "geister.other": "对方的鬼{ghost}（{colour}）",
    "geister.blue": "蓝鬼", "geister.red": "红鬼", "geister.unknown": "颜色未知", "geister.move here": "走到这里", "geister.take here": "吃子",
    "geister.choose": "可以移动", "geister.turn": "改变颜色", "geister.exit": "出口", "geister.escape here": "出口：{ghost}逃脱",
    "geister.hint": "选择或拖动一只己方的鬼。", "geister.where": "选择要走到的格子。", "geister.forced": "蓝鬼已到出口，请点箭头逃脱。",
    "geister.is red": "{ghost}是红色", "geister.setup": "点击己方的鬼，把其中{n}只设为红鬼；对手看不到颜色。", "geister.count": "红鬼 {n}／{of}", "geister.draw": "随机布置",
    "geister.confirm": "以此布置开始", "geister.taken": "{player}吃掉的鬼", "geister.of": "{player}的{colour}{ghost}", "geister.limit": "共{limit}步，用完为平局（现在{ply}步）", "geister.can move": "{ghost}可以走到：{squares}",
    "geister.log": "{ghost} {from}→{to}", "geister.log takes": "{ghost} {from}→{to}，吃掉{colour}{other}", "geister.log escapes": "{ghost}从{from}逃脱",
    "geister.log setup": "红鬼：{ghosts}", "geister.log hidden": "已布置好颜色",
    "ending.escape": "蓝鬼逃脱", "ending.blues taken": "一方的蓝鬼被吃光", "ending.reds taken": "红鬼全被吃掉的一方获胜", "ending.ply limit": "步数已用完",
  },
};

/** A move or a choice of colours in the user's language; the names of the squares are those of the English label. */
export function move(each, api) {
  if (each.kind === "setup") {
    return each.red ? api.t("geister.log setup", { ghosts: each.red.map((ghost) => LETTERS[ghost]).join(" ") }) : api.t("geister.log hidden");
  }
  if (each.kind !== "move") return each.label;
  const [, from, to] = /^\S+ ([a-f]\d)(?:[-x]([a-f]\d))?/.exec(each.label);
  const words = { ghost: LETTERS[each.ghost], from, to };
  if (each.to === null) return api.t("geister.log escapes", words);
  if (!each.taken) return api.t("geister.log", words);
  return api.t("geister.log takes", { ...words, colour: api.t(`geister.${each.taken.colour}`), other: LETTERS[each.taken.ghost] });
}

export const describe = move;
