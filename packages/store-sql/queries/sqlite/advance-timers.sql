-- advance-timers: move a timer on whose row the transaction has compared.
-- ? next_fire_at, planned, timer_id
UPDATE xtimer SET next_fire_at = ?, planned_runs = planned_runs + ? WHERE timer_id = ?
