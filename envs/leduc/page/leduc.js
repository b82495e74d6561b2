// Leduc hold'em on the general page: its words alone.

export { mount } from "../general.js";

export const texts = {
  en: { "game.leduc": "Leduc hold'em", "general.board": "Board", "general.bet": "Bet", "move.fold": "Fold", "move.call": "Check or call", "move.raise": "Raise" },
  ja: { "game.leduc": "レダック・ホールデム", "general.board": "場札", "general.bet": "賭け金", "move.fold": "降りる", "move.call": "チェック／コール", "move.raise": "レイズ" },
  zh: { "game.leduc": "莱杜克扑克", "general.board": "公共牌", "general.bet": "下注", "move.fold": "弃牌", "move.call": "过牌或跟注", "move.raise": "加注" },
};
