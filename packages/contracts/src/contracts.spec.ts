import { defaultPolicies, defaultTopicPolicies } from '@xtimer/pipeline';
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  CreateTimer,
  CreateTopic,
  datetimeOf,
  headerNameProblem,
  headerValueProblem,
  Id,
  Moment,
  messageOf,
  PublishJob,
  problemsOf,
  TaskId,
  urlFormProblem,
} from './index.js';

it('reads moments as epoch ms or ISO 8601 with a zone, nothing else', () => {
  for (const [given, at] of [
    [0, 0],
    ['1796077253817', 1_796_077_253_817],
    ['2027-01-01T08:00:00+08:00', Date.UTC(2027, 0, 1)],
    ['2027-01-01T00:00:00.250Z', Date.UTC(2027, 0, 1) + 250],
  ] as const) {
    expect(Moment.parse(given)).toBe(at);
  }
  for (const given of [
    '2027-01-01T00:00:00',
    '2027-02-30T00:00:00Z',
    '2027-01-01',
    'now',
    '',
    -1,
    1.5,
    1e18,
    null,
    true,
    [],
  ]) {
    expect(Moment.safeParse(given).success, String(given)).toBe(false);
  }
});

it('reads ids that a number holds exactly', () => {
  expect([Id.parse('42'), Id.parse(9_007_199_254_740_991)]).toEqual([42, 9_007_199_254_740_991]);
  for (const given of ['9007199254740992', 9_007_199_254_740_992, 0, '0', -1, 1.5, '', '1e3', ' 1', null]) {
    expect(Id.safeParse(given).success, String(given)).toBe(false);
  }
});

it('takes task ids of jobs, whose numbers are large, as far as a number holds them', () => {
  for (const given of ['17_1793000000000', '4294967297_0', '9007199254740991_1'])
    expect(TaskId.parse(given)).toBe(given);
  for (const given of ['9007199254740992_1', '0_1', '1_', '1', '12345678901234567_1', '1_1_1']) {
    expect(TaskId.safeParse(given).success, given).toBe(false);
  }
});

it('documents the defaults of a topic as those of a timer', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a JSON schema read by name
  const [topic, timer] = [CreateTopic, CreateTimer].map((schema) => z.toJSONSchema(schema, { io: 'input' })) as any[];
  for (const name of Object.keys(defaultTopicPolicies)) {
    expect(topic.properties[name], name).toEqual(timer.properties[name]);
  }
});

it('says what is too deep to be written', () => {
  let deep: unknown = [];
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  const given = { app: 'shop', topic: 't', payload: deep, delayMs: 0 };
  const { error } = PublishJob.safeParse(given);
  const [problem] = problemsOf(error!.issues, given);
  expect(problem).toMatchObject({ field: 'payload', expected: expect.stringContaining('nested') });
  expect(messageOf(problem!).length).toBeLessThan(300);
});

it('judges headers and URLs by form, as a browser would too', () => {
  expect(['X-Env', 'Authorization', "x_y!'"].map(headerNameProblem)).toEqual([null, null, null]);
  for (const name of ['', 'a b', '头', 'a:b', 'Host', 'content-LENGTH', 'X-Xtimer-App', 'webhook-id']) {
    expect(headerNameProblem(name), name).not.toBeNull();
  }
  for (const value of ['a\r\nb', 'a\nb', '\0', '\u007f']) expect(headerValueProblem(value)).not.toBeNull();
  for (const url of ['http://a.example', 'https://a.example/{{taskId}}?x=😀', 'http://[::1]:80/']) {
    expect(urlFormProblem(url), url).toBeNull();
  }
  for (const url of ['ftp://a/', 'a.example', 'http://', 'http://u@a/', 'http://a/ b', '\thttp://a/', 'data:,x']) {
    expect(urlFormProblem(url), url).not.toBeNull();
  }
});

it('documents the defaults the pipeline fills in', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a JSON schema read by name
  const { properties } = z.toJSONSchema(CreateTimer, { io: 'input', unrepresentable: 'any' }) as any;
  for (const [name, policy] of Object.entries(defaultPolicies)) {
    const documented = properties[name].properties
      ? Object.fromEntries(
          Object.entries(properties[name].properties).map(([key, one]) => [key, (one as { default: unknown }).default]),
        )
      : properties[name].default;
    expect(documented, name).toEqual(policy);
  }
});

it('tells where a mistake is, what was sent and what would be right, without secrets', () => {
  const schema = z.strictObject({
    header: z.record(z.string(), z.string({ error: 'text' })),
    list: z.array(z.int({ error: 'a number' })),
  });
  const input = { header: { Authorization: 5, 'a b': 5 }, list: [1, 'x'.repeat(500)], more: '😀' };
  const problems = problemsOf(schema.safeParse(input).error!.issues, input);
  expect(problems).toEqual([
    { field: 'header.Authorization', value: '***', expected: 'text' },
    { field: 'header["a b"]', value: 5, expected: 'text' },
    { field: 'list[1]', value: `${'x'.repeat(120)}…`, expected: 'a number' },
    { field: 'more', value: '😀', expected: 'no field of this name' },
  ]);
  expect(problems.map(messageOf)[3]).toBe('unknown field more');
});

it('writes datetimes in UTC', () => {
  expect(datetimeOf(Date.UTC(2026, 9, 22, 17, 30, 5, 999))).toBe('2026-10-22 17:30:05');
});
