/** Rows as aligned text columns. `columns`: `[title, row => value]`; `maxWidth` cuts long values with an ellipsis. */
export function table(columns, rows, maxWidth = 48) {
  const lines = [columns.map(([title]) => title), ...rows.map((row) => columns.map(([, value]) => cell(value(row))))];
  const cut = lines.map((line) => line.map((text) => shorten(text, maxWidth)));
  const widths = columns.map((_, index) => Math.max(...cut.map((line) => widthOf(line[index]))));
  const draw = (line) =>
    line
      .map((text, index) => text + ' '.repeat(widths[index] - widthOf(text)))
      .join('  ')
      .trimEnd();
  return [draw(cut[0]), widths.map((width) => '─'.repeat(width)).join('  '), ...cut.slice(1).map(draw)].join('\n');
}

const cell = (value) => String(value ?? '').replace(/\s+/g, ' ');

const shorten = (text, width) => (widthOf(text) <= width ? text : `${[...text].slice(0, width - 1).join('')}…`);

/** Terminal columns: emoji and CJK take two, joiners and variation selectors none. */
function widthOf(text) {
  let width = 0;
  for (const char of text) {
    if (/[\u200d\ufe0e\ufe0f]|\p{M}/u.test(char)) continue;
    width += /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60]/u.test(char) ? 2 : 1;
  }
  return width;
}
