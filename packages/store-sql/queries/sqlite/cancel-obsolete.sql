-- cancel-obsolete: what claim-tasks refuses for good becomes canceled.
-- ? now, keys
UPDATE timer_task
SET status = 4,
    reason = CASE x.status WHEN 0 THEN 'deleted' WHEN 1 THEN 'paused' ELSE 'edited' END,
    finished_at = ?
FROM xtimer x
WHERE x.timer_id = timer_task.timer_id
  AND (timer_task.run_timer, timer_task.timer_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))
  AND timer_task.status = 0
  AND (
    x.status = 0
    OR (
      timer_task.origin NOT IN (3, 4)
      AND timer_task.replay_count IS NULL
      AND (x.status = 1 OR (timer_task.version <> x.version AND timer_task.attempt = 0))
    )
  )
