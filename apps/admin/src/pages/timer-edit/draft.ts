import type { CreateTimer, TimerView } from '@xtimer/contracts';
import type { z } from 'zod';
import { fromLocalInput, toLocalInput, viewerZone } from '../../time.js';

/** What the form holds while somebody types, and its way from and to the API. */
export interface Draft {
  app: string;
  name: string;
  description: string;
  cron: string;
  cronDialect: TimerView['cronDialect'];
  timezone: string;
  dst: TimerView['dst'];
  callback: {
    method: TimerView['notifyHTTPParam']['method'];
    url: string;
    headers: { name: string; value: string }[];
    body: string;
  };
  timeoutMs: number | null;
  retry: { [K in keyof TimerView['retry']]: number | null };
  success: string[];
  noRetry: string[];
  misfire: { policy: TimerView['misfire']['policy']; graceMs: number | null; maxCatchUp: number | null };
  overlap: TimerView['overlap'];
  delivery: TimerView['delivery'];
  /** As `<input type="datetime-local">` has it, in the viewer's zone. */
  startAt: string;
  endAt: string;
  maxRuns: number | null;
  spreadMs: number | null;
  pauseAfterFailures: number | null;
  enable: boolean;
}

/** The server's defaults, shown so that they can be seen; the spec holds them to the pipeline's. */
export const emptyDraft: Draft = {
  app: '',
  name: '',
  description: '',
  cron: '',
  cronDialect: 'auto',
  timezone: viewerZone,
  dst: { gap: 'after', overlap: 'first' },
  callback: { method: 'POST', url: '', headers: [], body: '' },
  timeoutMs: 10_000,
  retry: { maxAttempts: 5, initialDelayMs: 1_000, factor: 2, maxDelayMs: 600_000, jitter: 0.2 },
  success: ['2xx'],
  noRetry: [],
  misfire: { policy: 'fireOnce', graceMs: 60_000, maxCatchUp: 100 },
  overlap: 'allow',
  delivery: 'atLeastOnce',
  startAt: '',
  endAt: '',
  maxRuns: null,
  spreadMs: 0,
  pauseAfterFailures: null,
  enable: true,
};

export function draftOf(timer: TimerView): Draft {
  const { app, name, description, cron, cronDialect, timezone, dst, notifyHTTPParam } = timer;
  const { method, url, header, body } = notifyHTTPParam;
  const { timeoutMs, retry, misfire, overlap, delivery, maxRuns, spreadMs, pauseAfterFailures } = timer;
  return {
    ...{ app, name, description, cron, cronDialect, timezone, dst },
    callback: {
      ...{ method, url, body: body ?? '' },
      headers: Object.entries(header).map(([headerName, value]) => ({ name: headerName, value })),
    },
    ...{ timeoutMs, retry, misfire, overlap, delivery, maxRuns, spreadMs, pauseAfterFailures },
    success: timer.success.status,
    noRetry: timer.noRetry.status,
    startAt: toLocalInput(timer.startAt),
    endAt: toLocalInput(timer.endAt),
    enable: false,
  };
}

/** An empty body is none. */
export const callbackOf = ({ method, url, headers, body }: Draft['callback']) => ({
  method,
  url: url.trim(),
  header: Object.fromEntries(
    headers
      .filter(({ name, value }) => name.trim() !== '' || value !== '')
      .map(({ name, value }) => [name.trim(), value]),
  ),
  body: body === '' ? null : body,
});

/** The rows of headers that would vanish behind one of the same name. */
export const sameHeaders = ({ headers }: Draft['callback']): number[] =>
  headers.flatMap(({ name }, at) => {
    const key = name.trim().toLowerCase();
    return key !== '' && headers.slice(0, at).some((one) => one.name.trim().toLowerCase() === key) ? [at] : [];
  });

/** Fields that are left empty go out as absent, so that the server's default holds; those that can be `null` as that. */
export function inputOf(draft: Draft): z.input<typeof CreateTimer> {
  const { app, name, description, cron, cronDialect, timezone, dst, callback, startAt, endAt } = draft;
  const { policy, graceMs, maxCatchUp } = draft.misfire;
  const { success, noRetry, overlap, delivery, maxRuns, pauseAfterFailures, enable } = draft;
  return {
    ...{ app: app.trim(), name: name.trim(), description, cron: cron.trim(), cronDialect, dst },
    ...(timezone.trim() !== '' && { timezone: timezone.trim() }),
    notifyHTTPParam: callbackOf(callback),
    ...given({ timeoutMs: draft.timeoutMs, spreadMs: draft.spreadMs }),
    retry: given(draft.retry),
    success: { status: success },
    noRetry: { status: noRetry },
    misfire: { policy, ...given({ graceMs, maxCatchUp }) },
    ...{ overlap, delivery, maxRuns, pauseAfterFailures, enable },
    startAt: fromLocalInput(startAt),
    endAt: fromLocalInput(endAt),
  };
}

function given<K extends string>(fields: Record<K, number | null>): { [P in K]?: number } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as { [P in K]?: number };
}

/** Where in the form the API's `notifyHTTPParam.header["X-A"]` or `retry.factor` is. */
export function pathOf(field: string, { callback }: Draft): (string | number)[] {
  const row = /^notifyHTTPParam\.header\[(\d+)\]$/.exec(field);
  if (row) return ['callback', 'headers', Number(row[1]), 'name'];
  const header = /^notifyHTTPParam\.header(?:\.([\w-]+)|\["(.*)"\])?$/.exec(field);
  if (header) {
    const name = header[1] ?? header[2];
    const at = callback.headers.findIndex((one) => one.name.trim() === name);
    return at === -1 ? ['callback', 'url'] : ['callback', 'headers', at, 'name'];
  }
  const [first, ...rest] = field.replace(/\[\d+\]$/, '').split('.');
  if (first === 'notifyHTTPParam') return ['callback', ...(rest.length > 0 ? rest : ['url'])];
  if (first === 'success' || first === 'noRetry') return [first];
  return [first!, ...rest];
}
