import type { ReactNode } from 'react';

interface IconProps {
  /** px */
  size?: number;
}

/** One stroke style for all; decoration only: the word beside it or the label of its button says what it means. */
const Icon = ({ size = 16, children }: IconProps & { children: ReactNode }) => (
  <svg
    className="icon"
    aria-hidden="true"
    {...{ width: size, height: size, viewBox: '0 0 16 16', fill: 'none', stroke: 'currentColor' }}
    {...{ strokeWidth: 1.5, strokeLinecap: 'round', strokeLinejoin: 'round' }}
  >
    {children}
  </svg>
);

export const Check = (props: IconProps) => (
  <Icon {...props}>
    <path d="m3 8.5 3.2 3.2L13 4.8" />
  </Icon>
);
export const Cross = (props: IconProps) => (
  <Icon {...props}>
    <path d="m4 4 8 8M12 4l-8 8" />
  </Icon>
);
export const Clock = (props: IconProps) => (
  <Icon {...props}>
    <circle cx="8" cy="8" r="5.8" />
    <path d="M8 4.8V8l2.2 1.5" />
  </Icon>
);
export const Play = (props: IconProps) => (
  <Icon {...props}>
    <path d="M5 3.2v9.6L12.5 8z" />
  </Icon>
);
export const Pause = (props: IconProps) => (
  <Icon {...props}>
    <path d="M5.2 3.5v9M10.8 3.5v9" />
  </Icon>
);
export const Stop = (props: IconProps) => (
  <Icon {...props}>
    <path d="M5.5 2.2h5l3.3 3.3v5l-3.3 3.3h-5l-3.3-3.3v-5zM8 5v3.4M8 10.8v.1" />
  </Icon>
);
export const Skip = (props: IconProps) => (
  <Icon {...props}>
    <path d="M3.5 4v8L9 8zM12.2 4v8" />
  </Icon>
);
export const Ban = (props: IconProps) => (
  <Icon {...props}>
    <circle cx="8" cy="8" r="5.8" />
    <path d="m4 4 8 8" />
  </Icon>
);
export const Spin = (props: IconProps) => (
  <Icon {...props}>
    <path d="M8 2.2A5.8 5.8 0 1 1 2.2 8" />
  </Icon>
);
export const Again = (props: IconProps) => (
  <Icon {...props}>
    <path d="M13.2 8A5.2 5.2 0 1 1 11.7 4.3L13.4 6M13.4 2.6V6H10" />
  </Icon>
);
export const Flag = (props: IconProps) => (
  <Icon {...props}>
    <path d="M4 14V2.5h8L10 5.5l2 3H4" />
  </Icon>
);
export const Pencil = (props: IconProps) => (
  <Icon {...props}>
    <path d="m3 13 .6-3L10.5 3l2.5 2.5-7 7z" />
  </Icon>
);
export const Bolt = (props: IconProps) => (
  <Icon {...props}>
    <path d="M9 1.8 3.5 9H8l-1 5.2L12.5 7H8z" />
  </Icon>
);
export const Copy = (props: IconProps) => (
  <Icon {...props}>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.5 3.2A1 1 0 0 0 9.5 2.5H4A1.5 1.5 0 0 0 2.5 4v5.5a1 1 0 0 0 .7 1" />
  </Icon>
);
export const Clone = (props: IconProps) => (
  <Icon {...props}>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M9.5 7.5v4M7.5 9.5h4M10.5 3.2A1 1 0 0 0 9.5 2.5H4A1.5 1.5 0 0 0 2.5 4v5.5a1 1 0 0 0 .7 1" />
  </Icon>
);
export const List = (props: IconProps) => (
  <Icon {...props}>
    <path d="M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01" />
  </Icon>
);
export const Trash = (props: IconProps) => (
  <Icon {...props}>
    <path d="M2.8 4.2h10.4M6 4V2.5h4V4M4.2 4.5l.6 9h6.4l.6-9M6.8 7v4M9.2 7v4" />
  </Icon>
);
export const Plus = (props: IconProps) => (
  <Icon {...props}>
    <path d="M8 3v10M3 8h10" />
  </Icon>
);
export const Sun = (props: IconProps) => (
  <Icon {...props}>
    <circle cx="8" cy="8" r="2.8" />
    <path d="M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9" />
  </Icon>
);
export const Moon = (props: IconProps) => (
  <Icon {...props}>
    <path d="M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z" />
  </Icon>
);
export const Screen = (props: IconProps) => (
  <Icon {...props}>
    <path d="M2 3h12v8H2zM6 13.5h4M8 11v2.5" />
  </Icon>
);
export const Leave = (props: IconProps) => (
  <Icon {...props}>
    <path d="M9.5 4.5v-2h-7v11h7v-2M6 8h8M11.5 5.5 14 8l-2.5 2.5" />
  </Icon>
);
export const Warn = (props: IconProps) => (
  <Icon {...props}>
    <path d="M8 2.2 14.5 13.5h-13zM8 6.5V10M8 11.8v.1" />
  </Icon>
);
export const Left = (props: IconProps) => (
  <Icon {...props}>
    <path d="M10 3.5 5.5 8l4.5 4.5" />
  </Icon>
);
export const Right = (props: IconProps) => (
  <Icon {...props}>
    <path d="M6 3.5 10.5 8 6 12.5" />
  </Icon>
);
