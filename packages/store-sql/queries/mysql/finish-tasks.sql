-- finish-tasks: write results, each only if its claim still holds the row.
-- ? JSON array of rows: status, due_at, started_at, finished_at, cost_time, lateness, http_status, reason,
--   output, error, run_timer, timer_id, claim_id
-- A waiting retry (status 0) loses its claim; an ended task keeps it, so that we can tell whose result it is.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    status INT PATH '$[0]',
    due_at BIGINT PATH '$[1]',
    started_at BIGINT PATH '$[2]',
    finished_at BIGINT PATH '$[3]',
    cost_time BIGINT PATH '$[4]',
    lateness BIGINT PATH '$[5]',
    http_status INT PATH '$[6]',
    reason VARCHAR(32) PATH '$[7]',
    output MEDIUMTEXT PATH '$[8]',
    error TEXT PATH '$[9]',
    run_timer BIGINT PATH '$[10]',
    timer_id BIGINT PATH '$[11]',
    claim_id BIGINT PATH '$[12]'
  )) r
  STRAIGHT_JOIN timer_task t FORCE INDEX (PRIMARY) ON t.run_timer = r.run_timer AND t.timer_id = r.timer_id
SET t.status = r.status,
    t.due_at = IF(r.status = 0, r.due_at, t.due_at),
    t.started_at = r.started_at,
    t.finished_at = IF(r.status = 0, NULL, r.finished_at),
    t.cost_time = r.cost_time,
    t.lateness = COALESCE(t.lateness, r.lateness),
    t.http_status = r.http_status,
    t.reason = r.reason,
    t.output = r.output,
    t.error = r.error,
    t.claim_id = IF(r.status = 0, NULL, r.claim_id)
WHERE t.status = 1 AND t.claim_id = r.claim_id
