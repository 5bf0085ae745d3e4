-- forget-retries: tasks that no longer wait leave the retry index.
-- ? keys
DELETE r
FROM timer_task t FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN task_retry r ON r.due_at = t.due_at AND r.run_timer = t.run_timer AND r.timer_id = t.timer_id
WHERE (t.run_timer, t.timer_id) IN (?) AND t.status <> 0
