// How agents are called on the page: their names may be paths of runs and of files.

/** A path in parts, what follows it (an iteration, options), and how many parts are shown. */
function split(name) {
  const end = name.search(/[@?]/) < 0 ? name.length : name.search(/[@?]/);
  const base = name.slice(0, end), rest = name.slice(end);
  const parts = /^(hf|pretrained):/.test(base) ? [base] : base.split(/[\\/]/).filter(Boolean);
  return { parts, rest, shown: 1 };
}

/** A short name for each name: the last folder of a path, with those above it as long as two would be called the same. */
export function shortNames(names) {
  const found = new Map(names.map((name) => [name, split(name)]));
  const short = ({ parts, rest, shown }) => parts.slice(-shown).join("/") + rest;
  const called = (each) => short(each).replace(/^pretrained:/, ""); // at a table
  for (let longer = true; longer;) {
    const counts = new Map();
    for (const each of found.values()) counts.set(called(each), (counts.get(called(each)) ?? 0) + 1);
    const same = [...found.values()].filter((each) => counts.get(called(each)) > 1 && each.shown < each.parts.length);
    for (const each of same) each.shown += 1;
    longer = same.length > 0;
  }
  return new Map([...found].map(([name, each]) => [name, short(each)]));
}
