/** What a placeholder may stand for. */
export type PlaceholderName = 'timerId' | 'taskId' | 'runTimer' | 'scheduledTime' | 'attempt' | 'payload';
export type PlaceholderValues = Record<PlaceholderName, string>;

const PLACEHOLDER = /\{\{(timerId|taskId|runTimer|scheduledTime|attempt|payload)\}\}/;

/** A text taken apart once: the fixed pieces, and between them the names to fill in. */
export interface Template {
  readonly pieces: readonly string[];
  readonly names: readonly PlaceholderName[];
}

export function parseTemplate(text: string): Template {
  // Splitting by a pattern with one group gives piece, name, piece, name, …, piece. Unknown placeholders stay.
  const parts = text.split(PLACEHOLDER);
  return {
    pieces: parts.filter((_, i) => i % 2 === 0),
    names: parts.filter((_, i) => i % 2 === 1) as PlaceholderName[],
  };
}

export function fill(
  template: Template,
  values: PlaceholderValues,
  encode: (value: string) => string = (value) => value,
): string {
  const { pieces, names } = template;
  let text = pieces[0]!;
  for (let i = 0; i < names.length; i++) text += encode(values[names[i]!]) + pieces[i + 1]!;
  return text;
}
