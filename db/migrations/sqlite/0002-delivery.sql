-- 0002-delivery: what overlap rules, dead letters in a row and retention need.

-- The task that each timer with an overlap rule ran last: the timer is busy while that task is running under that
-- claim. So nothing has to be freed, and nothing a crash leaves behind can block a timer.
CREATE TABLE timer_running (
  timer_id INTEGER NOT NULL,
  run_timer INTEGER NOT NULL,
  claim_id INTEGER NOT NULL,
  PRIMARY KEY (timer_id)
) WITHOUT ROWID;

-- Dead letters since the last success.
ALTER TABLE xtimer ADD COLUMN failures_in_row INTEGER NOT NULL DEFAULT 0;

-- NULL: the global retention holds.
ALTER TABLE app ADD COLUMN retention_days INTEGER NULL;

-- A timer's waiting retries.
CREATE INDEX task_retry_timer ON task_retry (timer_id);
