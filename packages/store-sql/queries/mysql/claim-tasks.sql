-- claim-tasks: not run → running, for those whose timer still wants them (DESIGN section 2, rule 2).
-- ? claim_id, claim_id, keys, due_by
-- The join with task_claim fences the claim itself: once recovery or `unclaim` has removed the
-- record, a claim statement that was still on its way takes nothing.
UPDATE timer_task t FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN xtimer x ON x.timer_id = t.timer_id
  STRAIGHT_JOIN task_claim c ON c.claim_id = ?
SET t.status = 1, t.claim_id = ?, t.attempt = t.attempt + 1
WHERE (t.run_timer, t.timer_id) IN (?)
  AND t.status = 0
  AND t.due_at <= ?
  AND ((x.status = 2 AND (t.version = x.version OR t.attempt > 0)) OR ((t.origin IN (3, 4) OR t.replay_count > 0) AND x.status <> 0))
