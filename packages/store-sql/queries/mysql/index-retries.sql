-- index-retries: tasks that wait for an instant other than their run_timer enter the retry index.
-- ? keys
INSERT IGNORE INTO task_retry (due_at, run_timer, timer_id, bucket)
SELECT t.due_at, t.run_timer, t.timer_id, t.bucket
FROM timer_task t FORCE INDEX (PRIMARY)
WHERE (t.run_timer, t.timer_id) IN (?) AND t.status = 0 AND t.due_at <> t.run_timer
