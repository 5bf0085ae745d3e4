-- replay-tasks: ended tasks whose rows the transaction has locked wait again.
-- ? JSON array of rows: due_at, run_timer, timer_id
-- Without its claim, so that nobody takes the row for the result of the call before.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    due_at BIGINT PATH '$[0]',
    run_timer BIGINT PATH '$[1]',
    timer_id BIGINT PATH '$[2]'
  )) m
  STRAIGHT_JOIN timer_task t FORCE INDEX (PRIMARY) ON t.run_timer = m.run_timer AND t.timer_id = m.timer_id
SET t.status = 0,
    t.due_at = m.due_at,
    t.reason = NULL,
    t.finished_at = NULL,
    t.claim_id = NULL,
    t.replay_count = COALESCE(t.replay_count, 0) + 1
