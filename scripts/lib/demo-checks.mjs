/** How the demo shows what happened, and how it decides that history tells the truth. */
import { table } from './table.mjs';

const STATUS = ['not run', 'running', 'succeeded', 'failed', 'canceled', 'skipped'];

const PLAN_WINDOW_MS = 10 * 60_000;

/** A busy machine may cost a second or two; beyond this the demo would be showing something broken. */
const MUCH_TOO_LATE_MS = 10_000;

const isoList = (moments) => moments.map((at) => new Date(at).toISOString()).join(', ');

const time = (at) => new Date(at).toISOString().slice(11, 23);

/** `22:04:05.003  +3 ms  POST /orders/check  attempt 1  {"task":…` */
export function callLine({ receivedAt, method, path, headers, body, lateness }) {
  const parts = [
    time(receivedAt),
    `${lateness < 0 ? '' : '+'}${Math.round(lateness)} ms`.padStart(7),
    `${method.padEnd(6)} ${path}`.padEnd(22),
    headers['x-xtimer-task-id'] ?? 'no task id',
    body.length > 60 ? `${body.slice(0, 60)}…` : body,
  ];
  return parts.join('  ').trimEnd();
}

export const historyTable = (rows) =>
  table(
    [
      ['task id', (row) => row.taskId],
      ['timer', (row) => row.name],
      ['planned (UTC)', (row) => time(row.runTimer)],
      ['late ms', (row) => row.lateness],
      ['cost ms', (row) => row.costTime],
      ['HTTP', (row) => row.httpStatus],
      ['status', (row) => STATUS[row.status]],
      ['output', (row) => row.output ?? row.error],
    ],
    [...rows].sort((a, b) => a.runTimer - b.runTimer || a.timerId - b.timerId),
    32,
  );

/**
 * What the receiver saw against what history says, both complete: every finished task was called exactly `attempt`
 * times, neither early nor much too late, succeeded if and only if the answer was a 2xx, and no call is without a
 * finished task.
 */
export function disagreements(rows, calls) {
  const seen = new Map();
  for (const { headers } of calls) {
    const taskId = headers['x-xtimer-task-id'];
    seen.set(taskId, (seen.get(taskId) ?? 0) + 1);
  }
  const problems = calls.length === 0 ? ['the receiver saw no callback at all'] : [];
  for (const { taskId, attempt, status, httpStatus, lateness } of rows) {
    const times = seen.get(taskId) ?? 0;
    if (times !== attempt) problems.push(`task ${taskId}: history says ${attempt} calls, the receiver saw ${times}`);
    const ok = httpStatus >= 200 && httpStatus < 300;
    if (lateness < 0) problems.push(`task ${taskId}: called ${-lateness} ms early`);
    if (lateness > MUCH_TOO_LATE_MS) problems.push(`task ${taskId}: called ${lateness} ms late`);
    if (ok !== (status === 2)) problems.push(`task ${taskId}: HTTP ${httpStatus}, but ${STATUS[status]}`);
    seen.delete(taskId);
  }
  for (const taskId of seen.keys()) problems.push(`task ${taskId}: the receiver saw a call, history has no result`);
  return problems;
}

/**
 * The real schedules: their fires are those of the test vectors, and what is planned for the next minutes, with the
 * first fire still to be planned, is exactly what the schedule says.
 */
export async function plannedDisagreements(api, timers, realWorld) {
  const problems = [];
  for (const { name, cron, dialect, timezone, start, next } of realWorld) {
    const schedule = { cron, cronDialect: dialect, timezone };
    const vector = await api.post('/xtimer/previewCron', { ...schedule, from: start, count: next.length });
    const expected = next.map((text) => Date.parse(text));
    if (String(vector.next) !== String(expected))
      problems.push(`"${name}" (${cron}): not the fires of the test vector`);

    const { timerId, registeredAt } = timers.find((timer) => timer.definition.name === name);
    // Planning goes on behind our back: what is compared ends with the first fire not yet planned.
    const { nextFireAt } = await api.get('/xtimer/getTimer', { app: 'demo', timerId });
    const before = Math.min(registeredAt + PLAN_WINDOW_MS, nextFireAt);
    const tasks = await api.tasks({ app: 'demo', timerId, startTime: registeredAt + 1, endTime: before });
    const planned = [...tasks.map((task) => task.runTimer).sort((a, b) => a - b), nextFireAt];
    const now = await api.post('/xtimer/previewCron', { ...schedule, from: registeredAt, count: 100 });
    const due = now.next.filter((at) => at < before || at === nextFireAt);
    // The next fire may lie beyond the hundred that a preview shows.
    if (!now.next.includes(nextFireAt)) planned.pop();
    if (String(due) !== String(planned)) {
      problems.push(`"${name}" (${cron}): planned are ${isoList(planned)}, the schedule says ${isoList(due)}`);
    }
  }
  return problems;
}
