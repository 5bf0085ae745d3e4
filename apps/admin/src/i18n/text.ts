import { useLanguage } from '../preferences.js';
import { en, type Text } from './en.js';
import type { Language } from './languages.js';
import { zh } from './zh.js';

export const texts: Record<Language, Text> = { en, zh };

/** The words of the console in the viewer's language. */
export const useText = (): Text => texts[useLanguage()];
export type { Text };
