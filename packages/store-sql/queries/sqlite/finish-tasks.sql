-- finish-tasks: write a result, only if its claim still holds the row.
-- ? status, due_at, started_at, finished_at, cost_time, lateness, http_status, reason, output, error,
--   run_timer, timer_id, claim_id
-- A waiting retry (status 0) loses its claim; an ended task keeps it, so that we can tell whose result it is.
UPDATE timer_task
SET status = ?1,
    due_at = CASE ?1 WHEN 0 THEN ?2 ELSE due_at END,
    started_at = ?3,
    finished_at = CASE ?1 WHEN 0 THEN NULL ELSE ?4 END,
    cost_time = ?5,
    lateness = COALESCE(lateness, ?6),
    http_status = ?7,
    reason = ?8,
    output = ?9,
    error = ?10,
    claim_id = CASE ?1 WHEN 0 THEN NULL ELSE claim_id END
WHERE run_timer = ?11 AND timer_id = ?12 AND claim_id = ?13 AND status = 1
