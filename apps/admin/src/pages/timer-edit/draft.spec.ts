import { CreateTimer, type TimerView } from '@xtimer/contracts';
import { defaultPolicies } from '@xtimer/pipeline';
import { expect, it } from 'vitest';
import { callbackOf, draftOf, emptyDraft, inputOf, pathOf, sameHeaders } from './draft.js';

const policies = (input: object) =>
  Object.fromEntries(Object.keys(defaultPolicies).map((key) => [key, Reflect.get(input, key)]));

it('starts from the defaults of the pipeline', () => {
  expect(policies(inputOf(emptyDraft))).toEqual(defaultPolicies);
});

it('brings a timer through the form unchanged', () => {
  const timer = {
    ...{
      app: 'shop',
      name: 'n',
      description: 'd',
      cron: '0 30 2 * * ?',
      cronDialect: 'quartz',
      timezone: 'Asia/Shanghai',
    },
    notifyHTTPParam: { method: 'PUT', url: 'https://example.com/{{taskId}}', header: { 'X-Env': 'a b' }, body: '{}' },
    ...defaultPolicies,
    ...{ overlap: 'queue', pauseAfterFailures: 3, maxRuns: 7, spreadMs: 5_000 },
    ...{ startAt: Date.UTC(2030, 0, 1), endAt: null },
  } as unknown as TimerView;
  const input = inputOf(draftOf(timer));
  expect(input).toEqual({ ...timer, enable: false });
  expect(CreateTimer.safeParse(input).success).toBe(true);
  const emptied = { ...draftOf(timer), timeoutMs: null, timezone: ' ' };
  expect(inputOf(emptied)).not.toHaveProperty('timeoutMs');
  expect(inputOf(emptied)).not.toHaveProperty('timezone');
});

it.each([
  ['cron', ['cron']],
  ['retry.maxAttempts', ['retry', 'maxAttempts']],
  ['success.status[0]', ['success']],
  ['notifyHTTPParam.url', ['callback', 'url']],
  ['notifyHTTPParam.header.X-B', ['callback', 'headers', 1, 'name']],
  ['notifyHTTPParam.header[1]', ['callback', 'headers', 1, 'name']],
  ['notifyHTTPParam.header["X Y"]', ['callback', 'headers', 0, 'name']],
])('finds the place of %s', (field, path) => {
  const headers = ['X Y', 'X-B'].map((name) => ({ name, value: '' }));
  expect(pathOf(field, { ...emptyDraft, callback: { ...emptyDraft.callback, headers } })).toEqual(path);
});

it('lets no header vanish: not one without a name, not one behind its namesake', () => {
  const callback = (...names: string[]) => ({
    ...{ ...emptyDraft.callback, url: 'https://example.com' },
    headers: names.map((name) => ({ name, value: 'v' })),
  });
  expect(sameHeaders(callback('X-A', 'b', ' x-a ', 'B', '', ''))).toEqual([2, 3]);
  const nameless = { ...inputOf(emptyDraft), ...{ app: 'a', name: 'n', cron: '* * * * *' } };
  const checked = CreateTimer.safeParse({ ...nameless, notifyHTTPParam: callbackOf(callback('')) });
  expect(checked.error?.issues.map(({ path }) => path)).toEqual([['notifyHTTPParam', 'header', '']]);
});
