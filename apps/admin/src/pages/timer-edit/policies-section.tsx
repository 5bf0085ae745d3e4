import { Form, Input, InputNumber, Select } from 'antd';
import type { ReactNode } from 'react';
import { useText } from '../../i18n/text.js';
import { viewerZone } from '../../time.js';
import { type Draft, emptyDraft } from './draft.js';
import { DurationInput } from './duration-input.js';
import { RetryLadder } from './retry-ladder.js';
import { optionsOf } from './when-section.js';

/** One policy: its name, what it does and what holds when nothing is said, and its fields. */
function Policy({
  name,
  hint,
  children,
  aside,
}: {
  name: string;
  hint: string;
  children: ReactNode;
  aside?: ReactNode;
}) {
  return (
    <fieldset className="policy">
      <legend>{name}</legend>
      <p className="soft small">{hint}</p>
      <div className={aside ? 'two-columns' : undefined}>
        <div className="field-row">{children}</div>
        {aside}
      </div>
    </fieldset>
  );
}

export function PoliciesSection() {
  const words = useText().form;
  const form = Form.useFormInstance<Draft>();
  const retry = Form.useWatch('retry', form) ?? emptyDraft.retry;
  const misfire = Form.useWatch(['misfire', 'policy'], form);
  const { maxAttempts, initialDelayMs, factor, maxDelayMs } = { ...emptyDraft.retry, ...given(retry) };
  return (
    <div className="policies">
      <Policy
        name={words.retry}
        hint={words.retryHint}
        aside={
          <RetryLadder
            retry={{
              maxAttempts: Math.min(maxAttempts!, 100),
              initialDelayMs: initialDelayMs!,
              factor: factor!,
              maxDelayMs: maxDelayMs!,
            }}
          />
        }
      >
        <Form.Item name={['retry', 'maxAttempts']} label={words.maxAttempts}>
          <InputNumber min={1} max={100} precision={0} />
        </Form.Item>
        <Form.Item name={['retry', 'initialDelayMs']} label={words.initialDelay}>
          <DurationInput label={words.initialDelay} />
        </Form.Item>
        <Form.Item name={['retry', 'factor']} label={words.factor}>
          <InputNumber min={1} max={100} step={0.5} prefix="×" />
        </Form.Item>
        <Form.Item name={['retry', 'maxDelayMs']} label={words.maxDelay}>
          <DurationInput label={words.maxDelay} />
        </Form.Item>
        <Form.Item name={['retry', 'jitter']} label={words.jitter} extra={words.jitterHint}>
          <InputNumber min={0} max={1} step={0.05} />
        </Form.Item>
      </Policy>
      <Policy name={words.timeout} hint={words.timeoutHint}>
        <Form.Item name="timeoutMs" label={words.timeout} className="bare-label">
          <DurationInput label={words.timeout} />
        </Form.Item>
      </Policy>
      <Policy name={words.success} hint={words.successHint}>
        <Form.Item name="success" label={words.success} className="bare-label grow">
          <Select mode="tags" open={false} suffixIcon={null} tokenSeparators={[',', ' ']} />
        </Form.Item>
      </Policy>
      <Policy name={words.noRetryStatus} hint={words.noRetryHint}>
        <Form.Item name="noRetry" label={words.noRetryStatus} className="bare-label grow">
          <Select mode="tags" open={false} suffixIcon={null} tokenSeparators={[',', ' ']} placeholder="400-407, 422" />
        </Form.Item>
      </Policy>
      <Policy name={words.misfire} hint={words.misfireHint}>
        <Form.Item name={['misfire', 'policy']} label={words.misfire} className="bare-label">
          <Select options={optionsOf(words.misfires)} popupMatchSelectWidth={false} />
        </Form.Item>
        <Form.Item name={['misfire', 'graceMs']} label={words.grace} extra={words.graceHint}>
          <DurationInput label={words.grace} />
        </Form.Item>
        <Form.Item
          name={['misfire', 'maxCatchUp']}
          label={words.maxCatchUp}
          extra={words.maxCatchUpHint}
          hidden={misfire !== 'fireAll'}
        >
          <InputNumber min={1} max={1000} precision={0} />
        </Form.Item>
      </Policy>
      <Policy name={words.overlap} hint={words.overlapHint}>
        <Form.Item name="overlap" label={words.overlap} className="bare-label">
          <Select options={optionsOf(words.overlaps)} popupMatchSelectWidth={false} />
        </Form.Item>
      </Policy>
      <Policy name={words.delivery} hint={words.deliveryHint}>
        <Form.Item name="delivery" label={words.delivery} className="bare-label">
          <Select options={optionsOf(words.deliveries)} />
        </Form.Item>
      </Policy>
      <Policy name={words.window} hint={`${words.windowHint} (${words.inYourZone(viewerZone)})`}>
        <Form.Item name="startAt" label={words.startAt}>
          <Input type="datetime-local" step={1} />
        </Form.Item>
        <Form.Item name="endAt" label={words.endAt}>
          <Input type="datetime-local" step={1} />
        </Form.Item>
        <Form.Item name="maxRuns" label={words.maxRuns}>
          <InputNumber min={1} max={1_000_000_000} precision={0} />
        </Form.Item>
      </Policy>
      <Policy name={words.spread} hint={words.spreadHint}>
        <Form.Item name="spreadMs" label={words.spread} className="bare-label">
          <DurationInput label={words.spread} />
        </Form.Item>
      </Policy>
      <Policy name={words.pauseAfter} hint={words.pauseAfterHint}>
        <Form.Item name="pauseAfterFailures" label={words.pauseAfter} className="bare-label">
          <InputNumber min={1} max={1_000_000} precision={0} />
        </Form.Item>
      </Policy>
    </div>
  );
}

/** A field emptied while typing stands for its default. */
const given = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<T>;
