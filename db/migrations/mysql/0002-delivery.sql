-- 0002-delivery: what overlap rules, dead letters in a row and retention need.

-- The task that each timer with an overlap rule ran last: the timer is busy while that task is running under that
-- claim. So nothing has to be freed, and nothing a crash leaves behind can block a timer.
CREATE TABLE IF NOT EXISTS timer_running (
  timer_id BIGINT NOT NULL,
  run_timer BIGINT NOT NULL,
  claim_id BIGINT NOT NULL,
  PRIMARY KEY (timer_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Dead letters since the last success.
ALTER TABLE xtimer ADD COLUMN failures_in_row INT NOT NULL DEFAULT 0;

-- NULL: the global retention holds.
ALTER TABLE app ADD COLUMN retention_days INT NULL;

-- A timer's waiting retries.
ALTER TABLE task_retry ADD KEY task_retry_timer (timer_id);
