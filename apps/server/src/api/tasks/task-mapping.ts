import type { TaskDetail, TaskView } from '@xtimer/contracts';
import { type Task, type TaskAttempt, TaskOrigin, type TaskOriginName, type TaskRef, taskIdOf } from '@xtimer/pipeline';

const originNames = new Map(Object.entries(TaskOrigin).map(([name, value]) => [value, name as TaskOriginName]));

export function taskView(task: Task, name: string): TaskView {
  const { bucket, version, payload, origin, ...rest } = task;
  return { taskId: taskIdOf(task), ...rest, name, origin: originNames.get(origin) ?? 'cron' };
}

export const taskDetail = (task: Task, name: string, attempts: TaskAttempt[]): TaskDetail => ({
  ...taskView(task, name),
  payload: task.payload,
  attempts,
});

/** Where a page of history ended, as an opaque word for the caller. */
export const cursorOf = ({ runTimer, timerId }: TaskRef): string =>
  Buffer.from(`${runTimer}.${timerId}`).toString('base64url');

/** `null`: no cursor of ours. */
export function refOf(cursor: string): TaskRef | null {
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  const ref = match && { runTimer: Number(match[1]), timerId: Number(match[2]) };
  return ref && cursorOf(ref) === cursor ? ref : null;
}
