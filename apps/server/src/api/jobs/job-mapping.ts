import { type BatchJob, ErrorCode, type JobView, LONGEST_DELAY_MS, PAYLOAD_LIMIT, payloadOf } from '@xtimer/contracts';
import { type Job, type NewJob, taskIdOf } from '@xtimer/pipeline';
import { ApiError, invalidInput } from '../api-error.js';
import { dueAtOf } from '../tasks/task-mapping.js';

/** Throws a 413 for a payload that is too large, a 400 for a time too far ahead. */
export function newJobOf(input: BatchJob, now: number): NewJob {
  const { payload, jobId = null, slotBasis = null, maxAttempts = null } = input;
  const size = Buffer.byteLength(payload);
  if (size > PAYLOAD_LIMIT) {
    const expected = `at most ${PAYLOAD_LIMIT} bytes`;
    const data = { field: 'payload', expected, size };
    throw new ApiError(ErrorCode.bodyTooLarge, `payload is too large with ${size} bytes: ${expected}`, data);
  }
  return { jobId, payload, slotBasis, maxAttempts, actionTime: actionTimeOf(input, now) };
}

/** Epoch ms; one of both is given. */
export function actionTimeOf(given: Pick<BatchJob, 'delayMs' | 'actionTime'>, now: number): number {
  const { delayMs, actionTime: at } = given;
  if (at === undefined) return now + delayMs!;
  if (at <= now + LONGEST_DELAY_MS) return at;
  throw invalidInput([{ field: 'actionTime', value: at, expected: 'a moment at most ten years ahead' }]);
}

export function jobView(job: Job, topic: string): JobView {
  const { jobId, app, slot, runTimer, status, reason, attempt, replayCount, createdAt } = job;
  const { costTime, lateness, httpStatus, output, error, startedAt, finishedAt } = job;
  return {
    ...{ jobId, taskId: taskIdOf(job), app, topic, slot, payload: payloadOf(job.payload ?? ''), actionTime: runTimer },
    ...{ status, reason, attempt, replayCount, dueAt: dueAtOf(job), costTime, lateness, httpStatus, output, error },
    ...{ startedAt, finishedAt, createdAt },
  };
}
