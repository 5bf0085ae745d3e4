import { XtimerError } from '@xtimer/client';
import { AutoComplete, Button, Form, Input, Select } from 'antd';
import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import { useText } from '../../i18n/text.js';
import { type Schedule, useCronPreview } from '../../next-fires.js';
import { Fires } from '../../parts/fires.js';
import { Failure, Loading, Note } from '../../parts/states.js';
import { isZone, viewerZone } from '../../time.js';
import type { Draft } from './draft.js';

const PRESETS = {
  minute: '0 * * * * ?',
  fiveMinutes: '0 0/5 * * * ?',
  hour: '0 0 * * * ?',
  daily: '0 30 2 * * ?',
  weekdays: '0 0 9 ? * MON-FRI',
  monthly: '0 0 0 1 * ?',
} as const;

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')].map((value) => ({ value }));

function useDebounced<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(setSettled, ms, value);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

export function WhenSection() {
  const text = useText();
  const words = text.form;
  const form = Form.useFormInstance<Draft>();
  const cron = Form.useWatch('cron', form) ?? '';
  const cronDialect = Form.useWatch('cronDialect', form);
  const timezone = Form.useWatch('timezone', form) ?? '';
  const dst = Form.useWatch('dst', form);
  // As text, so that typing a letter and taking it back asks nothing again.
  const asked = useDebounced(
    JSON.stringify({ cron: cron.trim(), cronDialect, timezone: timezone.trim() || undefined, dst, count: 10 }),
    300,
  );
  const schedule = useMemo<Schedule | null>(() => {
    const parsed = JSON.parse(asked) as Schedule;
    return parsed.cron === '' ? null : parsed;
  }, [asked]);
  const preview = useCronPreview(schedule);
  const refusal =
    preview.error instanceof XtimerError && typeof preview.error.code === 'number' && preview.error.status === 400
      ? preview.error
      : null;
  const zoneRefused = refusal?.field === 'timezone';
  const wrong = schedule !== null && refusal !== null && !zoneRefused;

  return (
    <div className="two-columns">
      <div>
        <Form.Item
          name="cron"
          label={words.cron}
          extra={wrong ? <CronProblem cron={schedule.cron} error={refusal} /> : words.cronHint}
          {...(wrong && { validateStatus: 'error' as const })}
        >
          <Input className="mono" autoComplete="off" spellCheck={false} maxLength={512} placeholder="0 30 2 * * ?" />
        </Form.Item>
        <fieldset className="chips">
          <legend className="visually-hidden">{words.presets}</legend>
          {(Object.keys(PRESETS) as (keyof typeof PRESETS)[]).map((name) => (
            <Button
              key={name}
              size="small"
              onClick={() => form.setFieldsValue({ cron: PRESETS[name], cronDialect: 'auto' })}
            >
              {words.preset[name]}
            </Button>
          ))}
        </fieldset>
        <div className="field-row">
          <Form.Item
            name="timezone"
            label={words.timezone}
            extra={words.timezoneHint}
            {...(zoneRefused && { validateStatus: 'error' as const, help: refusal.message })}
          >
            <AutoComplete
              options={zones}
              showSearch={{ filterOption: (typed, option) => matches(typed, option?.value ?? '') }}
              placeholder={words.serverZone}
              allowClear
            />
          </Form.Item>
          <Form.Item name="cronDialect" label={words.dialect}>
            <Select options={optionsOf(words.dialects)} />
          </Form.Item>
        </div>
        <div className="field-row">
          <Form.Item name={['dst', 'gap']} label={words.dstGap}>
            <Select options={optionsOf(words.dstGaps)} />
          </Form.Item>
          <Form.Item name={['dst', 'overlap']} label={words.dstOverlap}>
            <Select options={optionsOf(words.dstOverlaps)} />
          </Form.Item>
        </div>
      </div>
      <output className="consequence" aria-label={words.nextTen}>
        <Preview schedule={schedule} preview={preview} refused={refusal !== null} />
      </output>
    </div>
  );
}

function Preview({
  schedule,
  preview,
  refused,
}: {
  schedule: Schedule | null;
  preview: ReturnType<typeof useCronPreview>;
  refused: boolean;
}) {
  const text = useText();
  const words = text.form;
  const shown = useDeferredValue(preview.data);
  if (schedule === null || refused) return <p className="soft">{words.typeCron}</p>;
  if (preview.isError) return <Failure error={preview.error} onRetry={() => void preview.refetch()} />;
  if (!shown) return <Loading />;
  const zone = schedule.timezone !== undefined && isZone(schedule.timezone) ? schedule.timezone : viewerZone;
  return (
    <>
      <p className="cron-words">{shown.description}</p>
      <p className="soft small">{words.readAs(shown.dialect)}</p>
      {shown.warnings.map((warning) => (
        <Note key={warning}>{warning}</Note>
      ))}
      {shown.next.length > 0 ? <Fires fires={shown.next} zone={zone} /> : <p>{words.noFires}</p>}
      {shown.ends && shown.next.length > 0 && <p className="soft small">{words.ends}</p>}
    </>
  );
}

/** The server's reason, and where in the text it is. */
function CronProblem({ cron, error }: { cron: string; error: XtimerError }) {
  const { position, value } = error.data;
  return (
    <span className="field-problem" role="alert">
      {typeof position === 'number' && (
        <code className="cron-place">
          {cron.slice(0, position)}
          <mark>{cron.slice(position, position + Math.max(1, String(value ?? '').length))}</mark>
          {cron.slice(position + Math.max(1, String(value ?? '').length))}
        </code>
      )}
      {error.message}
    </span>
  );
}

export const optionsOf = <T extends string>(words: Record<T, string>) =>
  (Object.entries(words) as [T, string][]).map(([value, label]) => ({ value, label }));

const matches = (typed: string, zone: string) =>
  zone.toLowerCase().replaceAll('_', ' ').includes(typed.trim().toLowerCase().replaceAll('_', ' '));
