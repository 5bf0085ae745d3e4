-- plan-tasks: write a planned task; a row that is there stays, but
--   not run and of an older version: takes the new version
--   canceled by an edit or a pause, of an older version: is planned again
-- ? run_timer, timer_id, app, bucket, origin, version, due_at, payload, status 0, attempt 0
INSERT INTO timer_task (run_timer, timer_id, app, bucket, origin, version, due_at, payload, status, attempt)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_timer, timer_id) DO UPDATE SET
  due_at = CASE status WHEN 4 THEN excluded.due_at ELSE due_at END,
  payload = CASE status WHEN 4 THEN excluded.payload ELSE payload END,
  origin = CASE status WHEN 4 THEN excluded.origin ELSE origin END,
  finished_at = NULL,
  status = 0,
  reason = NULL,
  version = excluded.version
WHERE excluded.version > version AND (status = 0 OR (status = 4 AND reason IN ('edited', 'paused')))
