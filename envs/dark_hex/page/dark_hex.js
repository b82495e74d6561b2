// Dark hex on the general page: its words alone.

export { mount } from "../general.js";

export const texts = {
  en: { "game.dark_hex": "Dark hex", "game.dark_hex3": "Dark hex 3x3", "game.dark_hex3_abrupt": "Dark hex 3x3, abrupt", "general.board": "Board (x: top to bottom, o: left to right)", "ending.connection": "two sides are connected", "note.taken": "{move} is taken: a stone of the opponent is there.", "note.again": "Try another cell.", "note.over": "Your turn is over." },
  ja: { "game.dark_hex": "ダークヘックス", "game.dark_hex3": "ダークヘックス 3x3", "game.dark_hex3_abrupt": "ダークヘックス 3x3（失敗で手番終了）", "general.board": "盤（xは上下、oは左右）", "ending.connection": "両辺がつながりました", "note.taken": "{move}は相手の石でふさがっています。", "note.again": "別のマスを選んでください。", "note.over": "手番は終わりです。" },
  zh: { "game.dark_hex": "暗六贯棋", "game.dark_hex3": "暗六贯棋 3x3", "game.dark_hex3_abrupt": "暗六贯棋 3x3（失败即换手）", "general.board": "棋盘（x连上下，o连左右）", "ending.connection": "两边已连通", "note.taken": "{move}已被占：那里有对方的棋子。", "note.again": "请换一格再试。", "note.over": "你的回合结束。" },
};
