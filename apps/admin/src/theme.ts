import { type ThemeConfig, theme } from 'antd';
import type { Mode } from './preferences.js';

/** The look of the console: every colour, size and typeface there is. `styles.css` and antd both take it from here. */

const palettes = {
  light: {
    ground: '#f4f6f6',
    surface: '#ffffff',
    sunken: '#eef1f1',
    raised: '#ffffff',
    line: '#dde3e4',
    lineStrong: '#b9c3c6',
    text: '#17212a',
    textSoft: '#55636d',
    accent: '#0b6b63',
    accentSoft: '#e1f1ef',
    onAccent: '#ffffff',
    good: '#2f6f45',
    running: '#1b5fae',
    runningSoft: '#e6eff9',
    bad: '#b3261e',
    onBad: '#ffffff',
    badSoft: '#fdf0ee',
    warn: '#855600',
    warnSoft: '#fdf4df',
    shadow: 'rgba(20, 34, 42, 0.10)',
  },
  dark: {
    ground: '#0e1316',
    surface: '#151b1f',
    sunken: '#1b2328',
    raised: '#313d45',
    line: '#273138',
    lineStrong: '#46535c',
    text: '#e3e9ec',
    textSoft: '#9cabb4',
    accent: '#4cc3b4',
    accentSoft: '#14302e',
    onAccent: '#04201d',
    good: '#7cc795',
    running: '#7db8f5',
    runningSoft: '#15283b',
    bad: '#ff8a80',
    onBad: '#2b0705',
    badSoft: '#321a19',
    warn: '#e5b454',
    warnSoft: '#2e2513',
    shadow: 'rgba(0, 0, 0, 0.45)',
  },
} as const satisfies Record<Mode, Record<string, string>>;

const sizes = {
  space: '4px',
  radius: '6px',
  textSmall: '12px',
  textBase: '13px',
  textLarge: '15px',
  textTitle: '20px',
  sans: 'Inter, "Segoe UI", Roboto, "Helvetica Neue", "PingFang SC", "Microsoft YaHei", "Noto Sans SC", sans-serif',
  mono: '"JetBrains Mono", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
};

/** Makes `--accent`, `--space` and all the others known to the style sheet. */
export function applyTheme(mode: Mode): void {
  const { style, dataset } = document.documentElement;
  for (const [name, value] of Object.entries({ ...palettes[mode], ...sizes })) {
    style.setProperty(`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, value);
  }
  style.colorScheme = mode;
  dataset.theme = mode;
}

export function antdTheme(mode: Mode): ThemeConfig {
  const palette = palettes[mode];
  return {
    algorithm: mode === 'dark' ? theme.darkAlgorithm : theme.defaultAlgorithm,
    token: {
      colorPrimary: palette.accent,
      colorInfo: palette.running,
      colorSuccess: palette.good,
      colorWarning: palette.warn,
      colorError: palette.bad,
      colorLink: palette.accent,
      colorBgLayout: palette.ground,
      colorBgContainer: palette.surface,
      colorBgElevated: palette.surface,
      colorBorder: palette.lineStrong,
      colorBorderSecondary: palette.line,
      colorText: palette.text,
      colorTextSecondary: palette.textSoft,
      colorTextTertiary: palette.textSoft,
      colorTextPlaceholder: palette.textSoft,
      colorTextDescription: palette.textSoft,
      fontFamily: sizes.sans,
      fontFamilyCode: sizes.mono,
      fontSize: Number.parseInt(sizes.textBase, 10),
      borderRadius: Number.parseInt(sizes.radius, 10),
      controlHeight: 30,
      motion: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    },
    components: {
      Button: {
        primaryColor: palette.onAccent,
        dangerColor: palette.onBad,
        primaryShadow: 'none',
        defaultShadow: 'none',
        dangerShadow: 'none',
      },
      Form: { itemMarginBottom: 14, verticalLabelPadding: '0 0 4px', labelColor: palette.text },
      Segmented: { itemSelectedColor: palette.text, itemSelectedBg: palette.raised, trackBg: palette.sunken },
    },
  };
}
