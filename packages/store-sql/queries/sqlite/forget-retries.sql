-- forget-retries: tasks that no longer wait leave the retry index.
-- ? keys
DELETE FROM task_retry
WHERE (due_at, run_timer, timer_id) IN (
  SELECT due_at, run_timer, timer_id
  FROM timer_task
  WHERE (run_timer, timer_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?)) AND status <> 0
)
