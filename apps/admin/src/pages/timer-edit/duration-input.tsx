import { InputNumber, Select, Space } from 'antd';
import { useState } from 'react';
import { useText } from '../../i18n/text.js';

const UNITS = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };
type Unit = keyof typeof UNITS;
const NAMES = Object.keys(UNITS) as Unit[];

/** The largest unit that tells it in whole numbers. */
const unitOf = (ms: number): Unit => [...NAMES].reverse().find((unit) => ms > 0 && ms % UNITS[unit] === 0) ?? 's';

interface DurationInputProps {
  /** ms; `null`: empty. */
  value?: number | null;
  id?: string;
  label: string;
  onChange?(ms: number | null): void;
}

export function DurationInput({ value = null, id, label, onChange }: DurationInputProps) {
  const { units } = useText();
  const [unit, setUnit] = useState<Unit>(() => unitOf(value ?? 0));
  return (
    <Space.Compact className="duration">
      <InputNumber<number>
        {...(id !== undefined && { id })}
        min={0}
        value={value === null ? null : value / UNITS[unit]}
        onChange={(count) => onChange?.(count === null ? null : Math.round(count * UNITS[unit]))}
      />
      <Select<Unit>
        aria-label={`${label}: ${NAMES.map((name) => units[name]).join(', ')}`}
        value={unit}
        onChange={(next) => {
          // The number stays, its unit changes: what one means by picking another.
          setUnit(next);
          if (value !== null) onChange?.(Math.round((value / UNITS[unit]) * UNITS[next]));
        }}
        options={NAMES.map((name) => ({ value: name, label: units[name] }))}
      />
    </Space.Compact>
  );
}
