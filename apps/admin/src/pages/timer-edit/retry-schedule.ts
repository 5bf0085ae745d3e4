export interface RetryRule {
  maxAttempts: number;
  initialDelayMs: number;
  factor: number;
  maxDelayMs: number;
}

export interface PlannedAttempt {
  attempt: number;
  /** Since the attempt before, without jitter; 0 for the first. */
  waitMs: number;
  /** Since the first attempt, without jitter and the time the calls take. */
  afterMs: number;
}

/** When each attempt is made if all of them fail: the executor's own rule, checked against it in the spec. */
export function retrySchedule({ maxAttempts, initialDelayMs, factor, maxDelayMs }: RetryRule): PlannedAttempt[] {
  const attempts: PlannedAttempt[] = [{ attempt: 1, waitMs: 0, afterMs: 0 }];
  for (let attempt = 2; attempt <= maxAttempts; attempt++) {
    const waitMs = Math.min(maxDelayMs, initialDelayMs * factor ** (attempt - 2));
    attempts.push({ attempt, waitMs, afterMs: attempts.at(-1)!.afterMs + waitMs });
  }
  return attempts;
}
