/** Laid out, or `null` when it is no JSON object or array, or would lose something by it (big numbers, twice a key). */
export function prettyJson(text: string): string | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    const pretty = JSON.stringify(JSON.parse(text), null, 2);
    return significant(pretty) === significant(text) ? pretty : null;
  } catch {
    return null;
  }
}

/** Blanks outside of strings and the ways to write a character make no difference. */
const significant = (text: string): string =>
  text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : ''));

/** Why it is no JSON; `null` when it is. Placeholders count as what they will be filled with. */
export function jsonProblem(text: string): string | null {
  try {
    JSON.parse(text.replace(/\{\{\w+\}\}/g, '0'));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Layout for a body that is being written: placeholders outside of strings keep it from being JSON, and stay. */
export function formatBody(text: string): string | null {
  const stands = new Map<string, string>();
  let n = 0;
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|\{\{\w+\}\}/g, (part) => {
    if (part.startsWith('"')) return part;
    const mark = `"\u0001${n++}\u0001"`;
    stands.set(JSON.stringify(JSON.parse(mark.replaceAll('\u0001', '\\u0001'))), part);
    return mark.replaceAll('\u0001', '\\u0001');
  });
  const pretty = prettyJson(marked);
  if (pretty === null) return null;
  return [...stands].reduce((laidOut, [mark, placeholder]) => laidOut.replace(mark, placeholder), pretty);
}
