import { type Language, languageOf } from './i18n/languages.js';
import { createStore, recall, remember, useStore } from './store.js';

/** What the viewer chose for this browser. */

export const themeChoices = ['light', 'dark', 'system'] as const;
export type ThemeChoice = (typeof themeChoices)[number];
export type Mode = 'light' | 'dark';

const local = () => localStorage;
const LANGUAGE = 'xtimer.language';
const THEME = 'xtimer.theme';

const darkPreferred = matchMedia('(prefers-color-scheme: dark)');
const keptTheme = recall(local, THEME);

export const language = createStore<Language>(languageOf(recall(local, LANGUAGE), navigator.languages));
export const themeChoice = createStore<ThemeChoice>(themeChoices.find((choice) => choice === keptTheme) ?? 'system');
export const mode = createStore<Mode>('light');

const followTheme = () => {
  const choice = themeChoice.get();
  mode.set(choice === 'system' ? (darkPreferred.matches ? 'dark' : 'light') : choice);
};
followTheme();
darkPreferred.addEventListener('change', followTheme);

export function chooseTheme(choice: ThemeChoice): void {
  remember(local, THEME, choice);
  themeChoice.set(choice);
  followTheme();
}

export function chooseLanguage(chosen: Language): void {
  remember(local, LANGUAGE, chosen);
  language.set(chosen);
}

export const useLanguage = () => useStore(language);
export const useMode = () => useStore(mode);
