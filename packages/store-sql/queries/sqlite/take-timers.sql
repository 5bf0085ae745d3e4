-- take-timers: a timer whose last task was seen not running gets a new one, unless somebody was faster.
-- ? run_timer, claim_id, timer_id, claim_id seen
UPDATE timer_running SET run_timer = ?, claim_id = ? WHERE timer_id = ? AND claim_id = ?
