-- claim-jobs: not run → running, for those whose topic is active. See claim-tasks.
-- ? claim_id, claim_id, keys, due_by
UPDATE timer_task
SET status = 1, claim_id = ?, attempt = attempt + 1
FROM topic o
WHERE o.topic_id = timer_task.timer_id / 4294967296
  AND EXISTS (SELECT 1 FROM task_claim WHERE claim_id = ?)
  AND (timer_task.run_timer, timer_task.timer_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))
  AND timer_task.status = 0
  AND timer_task.due_at <= ?
  AND o.status = 2
