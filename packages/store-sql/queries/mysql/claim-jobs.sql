-- claim-jobs: not run → running, for those whose topic is active. See claim-tasks.
-- ? claim_id, claim_id, keys, due_by
UPDATE timer_task t FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN topic o ON o.topic_id = t.timer_id DIV 4294967296
  STRAIGHT_JOIN task_claim c ON c.claim_id = ?
SET t.status = 1, t.claim_id = ?, t.attempt = t.attempt + 1
WHERE (t.run_timer, t.timer_id) IN (?)
  AND t.status = 0
  AND t.due_at <= ?
  AND o.status = 2
