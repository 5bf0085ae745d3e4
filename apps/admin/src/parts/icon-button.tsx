import { App, Button, Tooltip } from 'antd';
import type { ReactNode } from 'react';
import { useText } from '../i18n/text.js';
import { Copy } from './icons.js';

interface IconButtonProps {
  label: string;
  icon: ReactNode;
  href?: string;
  disabled?: boolean;
  loading?: boolean;
  danger?: boolean;
  onClick?(): void;
}

/** A button that shows only an icon; its label is the tooltip and what a screen reader says. */
export function IconButton({ label, icon, ...rest }: IconButtonProps) {
  return (
    <Tooltip title={label}>
      <Button type="text" size="small" className="icon-button" aria-label={label} icon={icon} {...rest} />
    </Tooltip>
  );
}

export function CopyButton({ value, what }: { value: string; what: string }) {
  const text = useText();
  const { message } = App.useApp();
  const copy = () =>
    navigator.clipboard.writeText(value).then(
      () => void message.success(text.copied),
      () => void message.error(text.failed),
    );
  return <IconButton label={text.copyWhat(what)} icon={<Copy size={14} />} onClick={() => void copy()} />;
}
