-- cancel-obsolete: what claim-tasks refuses for good becomes canceled.
-- ? now, keys
UPDATE timer_task t FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN xtimer x ON x.timer_id = t.timer_id
SET t.status = 4,
    t.reason = CASE x.status WHEN 0 THEN 'deleted' WHEN 1 THEN 'paused' ELSE 'edited' END,
    t.finished_at = ?
WHERE (t.run_timer, t.timer_id) IN (?)
  AND t.status = 0
  AND (
    x.status = 0
    OR (
      t.origin NOT IN (3, 4)
      AND t.replay_count IS NULL
      AND (x.status = 1 OR (t.version <> x.version AND t.attempt = 0))
    )
  )
