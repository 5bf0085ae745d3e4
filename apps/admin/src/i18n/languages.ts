export const languages = ['en', 'zh'] as const;
export type Language = (typeof languages)[number];

/** The kept one, else the first of the browser's that we speak, else English. */
export function languageOf(kept: string | null, preferred: readonly string[]): Language {
  const wanted = [...(kept === null ? [] : [kept]), ...preferred].map((tag) => tag.toLowerCase().split('-', 1)[0]!);
  return wanted.find((tag): tag is Language => (languages as readonly string[]).includes(tag)) ?? 'en';
}
