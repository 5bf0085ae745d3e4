import { Segmented, Tooltip } from 'antd';
import type { ReactNode } from 'react';
import { languages } from '../i18n/languages.js';
import { texts, useText } from '../i18n/text.js';
import { Moon, Screen, Sun } from '../parts/icons.js';
import {
  chooseLanguage,
  chooseTheme,
  type ThemeChoice,
  themeChoice,
  themeChoices,
  useLanguage,
} from '../preferences.js';
import { useStore } from '../store.js';

const icons: Record<ThemeChoice, ReactNode> = { light: <Sun />, dark: <Moon />, system: <Screen /> };

export function LanguageSwitch() {
  const text = useText();
  return (
    <Segmented
      size="small"
      aria-label={text.language}
      value={useLanguage()}
      onChange={chooseLanguage}
      options={languages.map((value) => ({ value, label: texts[value].languageName }))}
    />
  );
}

export function ThemeSwitch() {
  const text = useText();
  return (
    <Segmented
      size="small"
      aria-label={text.theme.label}
      value={useStore(themeChoice)}
      onChange={chooseTheme}
      options={themeChoices.map((value) => ({
        value,
        label: (
          <Tooltip title={text.theme[value]}>
            <span className="theme-option">
              {icons[value]}
              <span className="visually-hidden">{text.theme[value]}</span>
            </span>
          </Tooltip>
        ),
      }))}
    />
  );
}
