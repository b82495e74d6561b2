// Liar's dice on the general page: its words alone.

export { mount } from "../general.js";

export const texts = {
  en: { "game.liars_dice": "Liar's dice", "game.liars_dice5": "Liar's dice, five faces", "game.liars_dice_2d5f": "Liar's dice, two dice of five faces", "general.dice": "Dice", "general.bid": "Last bid (quantity x face)", "move.liar": "Liar!" },
  ja: { "game.liars_dice": "ライアーズダイス", "game.liars_dice5": "ライアーズダイス（5面）", "game.liars_dice_2d5f": "ライアーズダイス（5面2個）", "general.dice": "ダイス", "general.bid": "最後の宣言（個数x目）", "move.liar": "嘘だ！" },
  zh: { "game.liars_dice": "大话骰", "game.liars_dice5": "大话骰（五面）", "game.liars_dice_2d5f": "大话骰（五面两颗）", "general.dice": "骰子", "general.bid": "上次叫数（个数x点数）", "move.liar": "开！" },
};
