-- move-slots: slots whose rows the transaction has locked wait for another instant.
-- ? JSON array of rows: due_at, run_timer, timer_id
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    due_at BIGINT PATH '$[0]',
    run_timer BIGINT PATH '$[1]',
    timer_id BIGINT PATH '$[2]'
  )) m
  STRAIGHT_JOIN timer_task t FORCE INDEX (PRIMARY) ON t.run_timer = m.run_timer AND t.timer_id = m.timer_id
SET t.due_at = m.due_at
