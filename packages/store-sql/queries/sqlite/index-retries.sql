-- index-retries: tasks that wait for an instant other than their run_timer enter the retry index.
-- ? keys
INSERT OR IGNORE INTO task_retry (due_at, run_timer, timer_id, bucket)
SELECT due_at, run_timer, timer_id, bucket
FROM timer_task
WHERE (run_timer, timer_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?)) AND status = 0 AND due_at <> run_timer
