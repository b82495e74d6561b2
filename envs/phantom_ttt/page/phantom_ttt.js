// Phantom tic-tac-toe on the general page: its words alone.

export { mount } from "../general.js";

export const texts = {
  en: { "game.phantom_ttt": "Phantom tic-tac-toe", "game.phantom_ttt_abrupt": "Phantom tic-tac-toe, abrupt", "general.board": "Board (x begins)", "ending.three in a row": "three in a row", "ending.full board": "the board is full" },
  ja: { "game.phantom_ttt": "ファントム三目並べ", "game.phantom_ttt_abrupt": "ファントム三目並べ（失敗で手番終了）", "general.board": "盤（xが先手）", "ending.three in a row": "三目が並びました", "ending.full board": "盤が埋まりました" },
  zh: { "game.phantom_ttt": "幻影井字棋", "game.phantom_ttt_abrupt": "幻影井字棋（失败即换手）", "general.board": "棋盘（x先手）", "ending.three in a row": "三子连线", "ending.full board": "棋盘已满" },
};
