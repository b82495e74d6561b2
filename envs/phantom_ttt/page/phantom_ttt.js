// Phantom tic-tac-toe on the general page: its words alone.

export { mount } from "../general.js";

export const texts = {
  en: { "game.phantom_ttt": "Phantom tic-tac-toe", "game.phantom_ttt_abrupt": "Phantom tic-tac-toe, abrupt", "general.board": "Board (x begins)", "ending.three in a row": "three in a row", "ending.full board": "the board is full", "note.taken": "{move} is taken: a stone of the opponent is there.", "note.again": "Try another cell.", "note.over": "Your turn is over." },
  ja: { "game.phantom_ttt": "ファントム三目並べ", "game.phantom_ttt_abrupt": "ファントム三目並べ（失敗で手番終了）", "general.board": "盤（xが先手）", "ending.three in a row": "三目が並びました", "ending.full board": "盤が埋まりました", "note.taken": "{move}は相手の石でふさがっています。", "note.again": "別のマスを選んでください。", "note.over": "手番は終わりです。" },
  zh: { "game.phantom_ttt": "幻影井字棋", "game.phantom_ttt_abrupt": "幻影井字棋（失败即换手）", "general.board": "棋盘（x先手）", "ending.three in a row": "三子连线", "ending.full board": "棋盘已满", "note.taken": "{move}已被占：那里有对方的棋子。", "note.again": "请换一格再试。", "note.over": "你的回合结束。" },
};
