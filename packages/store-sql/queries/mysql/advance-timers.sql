-- advance-timers: move timers on whose rows the transaction has locked and compared.
-- ? JSON array of rows: next_fire_at, planned, timer_id
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    next_fire_at BIGINT PATH '$[0]',
    planned BIGINT PATH '$[1]',
    timer_id BIGINT PATH '$[2]'
  )) m
  STRAIGHT_JOIN xtimer x ON x.timer_id = m.timer_id
SET x.next_fire_at = m.next_fire_at, x.planned_runs = x.planned_runs + m.planned
