-- claim-tasks: not run → running, for those whose timer still wants them (DESIGN section 2, rule 2).
-- ? claim_id, claim_id, keys, due_by
UPDATE timer_task
SET status = 1, claim_id = ?, attempt = attempt + 1
FROM xtimer x
WHERE x.timer_id = timer_task.timer_id
  AND EXISTS (SELECT 1 FROM task_claim WHERE claim_id = ?)
  AND (timer_task.run_timer, timer_task.timer_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))
  AND timer_task.status = 0
  AND timer_task.due_at <= ?
  AND (
    (x.status = 2 AND (timer_task.version = x.version OR timer_task.attempt > 0))
    OR ((timer_task.origin IN (3, 4) OR timer_task.replay_count > 0) AND x.status <> 0)
  )
