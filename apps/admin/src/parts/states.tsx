import { XtimerError } from '@xtimer/client';
import { Alert, Button } from 'antd';
import type { ReactNode } from 'react';
import { type Text, useText } from '../i18n/text.js';
import { duration } from '../time.js';
import { Cross, Warn } from './icons.js';

/** What an error says to people: a refusal for being too quick is ours to word, the rest is the server's. */
export function sayError(error: unknown, text: Text): string {
  if (error instanceof XtimerError) {
    if (error.status === 429) return text.tooSoon(duration(Math.max(1_000, error.retryAfterMs ?? 3_000), text.units));
    if (error.status === 403) return text.noAccess;
  }
  return error instanceof Error ? error.message : String(error);
}

export function Failure({ error, onRetry, what }: { error: unknown; onRetry?: () => void; what?: string }) {
  const text = useText();
  const requestId = error instanceof XtimerError ? error.requestId : null;
  return (
    <Alert
      type="error"
      showIcon
      icon={<Cross />}
      title={what ?? text.loadFailed}
      description={
        <>
          {sayError(error, text)}
          {requestId && <div className="soft small num">{text.requestId(requestId)}</div>}
        </>
      }
      action={onRetry && <Button onClick={onRetry}>{text.retryLoad}</Button>}
    />
  );
}

export function Note({ children }: { children: ReactNode }) {
  return (
    <p className="note">
      <Warn size={14} />
      <span>{children}</span>
    </p>
  );
}

export function Nothing({ title, children, action }: { title?: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className="nothing">
      {title && <h2>{title}</h2>}
      <p>{children}</p>
      {action}
    </div>
  );
}

export function Loading({ lines = 6 }: { lines?: number }) {
  const text = useText();
  return (
    <div className="loading" role="status" aria-label={text.loading}>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
        <span key={line} />
      ))}
    </div>
  );
}
