import type { TaskDetail, TaskView } from '@xtimer/contracts';
import {
  isJob,
  PARKED_AT,
  type Task,
  type TaskAttempt,
  TaskOrigin,
  type TaskOriginName,
  type TaskRef,
  taskIdOf,
} from '@xtimer/pipeline';
import { invalidInput } from '../api-error.js';

const originNames = new Map(Object.entries(TaskOrigin).map(([name, value]) => [value, name as TaskOriginName]));

/** What a task is of: the name of its timer or topic, and the id of a job. */
export interface TaskOf {
  name: string;
  jobId: string | undefined;
}

export function taskView(task: Task, { name, jobId }: TaskOf): TaskView {
  const { bucket, version, payload, origin, timerId, ...rest } = task;
  return {
    taskId: taskIdOf(task),
    ...(isJob(timerId) ? { topic: name, jobId } : { timerId }),
    ...rest,
    dueAt: dueAtOf(task),
    name,
    origin: originNames.get(origin) ?? 'cron',
  };
}

export const taskDetail = (task: Task, of: TaskOf, attempts: TaskAttempt[]): TaskDetail => ({
  ...taskView(task, of),
  payload: task.payload,
  attempts,
});

/** `null`: held back by a paused topic. */
export const dueAtOf = ({ dueAt }: Task): number | null => (dueAt >= PARKED_AT ? null : dueAt);

/** Where a page of history ended, as an opaque word for the caller. */
const cursorOf = ({ runTimer, timerId }: TaskRef): string =>
  Buffer.from(`${runTimer}.${timerId}`).toString('base64url');

/** Throws a 400 when it is no cursor of ours. */
export function refOf(cursor: string | undefined): TaskRef | null {
  if (cursor === undefined) return null;
  const match = /^(\d{1,15})\.(\d{1,16})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  const ref = match && { runTimer: Number(match[1]), timerId: Number(match[2]) };
  if (ref && cursorOf(ref) === cursor) return ref;
  throw invalidInput([{ field: 'cursor', value: cursor, expected: 'the nextCursor of the page before' }]);
}

/** A page out of one item more than it holds. */
export function pageOf<T extends TaskRef>(found: readonly T[], pageSize: number) {
  const list = found.slice(0, pageSize);
  return { list, nextCursor: found.length > pageSize ? cursorOf(list.at(-1)!) : null };
}
