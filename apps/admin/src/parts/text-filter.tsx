import { Input } from 'antd';
import { useEffect, useRef, useState } from 'react';
import { Filter } from './page.js';

interface TextFilterProps {
  label: string;
  /** As it stands in the address. */
  value: string;
  placeholder?: string;
  grow?: boolean;
  type?: 'text' | 'datetime-local';
  numeric?: boolean;
  onChange(value: string): void;
}

/** A text whose value lives in the address: written there once typing pauses, or at once with Enter. */
export function TextFilter({ label, value, placeholder, grow, type, numeric, onChange }: TextFilterProps) {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    // The address was changed by somebody else: back, a link, "clear filters".
    if (value !== sent.current) setTyped(value);
    sent.current = value;
  }, [value]);
  useEffect(() => () => clearTimeout(waiting.current), []);
  const send = (next: string) => {
    clearTimeout(waiting.current);
    if (next === sent.current) return;
    sent.current = next;
    onChange(next);
  };
  return (
    <Filter label={label} {...(grow && { grow })}>
      <Input
        value={typed}
        type={type ?? 'text'}
        {...(numeric && { inputMode: 'numeric' as const })}
        {...(placeholder && { placeholder })}
        {...(type === undefined && { allowClear: true })}
        onChange={({ target }) => {
          const next = numeric ? target.value.replace(/\D/g, '') : target.value;
          setTyped(next);
          clearTimeout(waiting.current);
          waiting.current = setTimeout(send, 300, next.trim());
        }}
        onPressEnter={() => send(typed.trim())}
      />
    </Filter>
  );
}
