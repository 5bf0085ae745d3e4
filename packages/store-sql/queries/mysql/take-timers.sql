-- take-timers: timers whose last task was seen not running get a new one, unless somebody was faster.
-- ? JSON array of rows: run_timer, claim_id, timer_id, claim_id seen
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    run_timer BIGINT PATH '$[0]',
    claim_id BIGINT PATH '$[1]',
    timer_id BIGINT PATH '$[2]',
    seen BIGINT PATH '$[3]'
  )) m
  STRAIGHT_JOIN timer_running r ON r.timer_id = m.timer_id
SET r.run_timer = m.run_timer, r.claim_id = m.claim_id
WHERE r.claim_id = m.seen
