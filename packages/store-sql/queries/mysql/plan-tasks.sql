-- plan-tasks: write planned tasks; a row that is there stays, but
--   not run and of an older version: takes the new version
--   canceled by an edit or a pause, of an older version: is planned again
-- ? rows: run_timer, timer_id, app, bucket, origin, version, due_at, payload, status 0, attempt 0
-- The assignments run from left to right and see each other: status and version come last.
INSERT INTO timer_task (run_timer, timer_id, app, bucket, origin, version, due_at, payload, status, attempt)
VALUES ?
ON DUPLICATE KEY UPDATE
  due_at = IF(status = 4 AND reason IN ('edited', 'paused') AND VALUES(version) > version, VALUES(due_at), due_at),
  payload = IF(status = 4 AND reason IN ('edited', 'paused') AND VALUES(version) > version, VALUES(payload), payload),
  origin = IF(status = 4 AND reason IN ('edited', 'paused') AND VALUES(version) > version, VALUES(origin), origin),
  finished_at = IF(status = 4 AND reason IN ('edited', 'paused') AND VALUES(version) > version, NULL, finished_at),
  status = IF(status = 4 AND reason IN ('edited', 'paused') AND VALUES(version) > version, 0, status),
  reason = IF(status = 0, NULL, reason),
  version = IF(status = 0 AND VALUES(version) > version, VALUES(version), version)
