-- move-slots: a slot whose row the transaction has read waits for another instant.
-- ? due_at, run_timer, timer_id
UPDATE timer_task SET due_at = ? WHERE run_timer = ? AND timer_id = ?
