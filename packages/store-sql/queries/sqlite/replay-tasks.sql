-- replay-tasks: an ended task whose row the transaction has read waits again.
-- ? due_at, run_timer, timer_id
-- Without its claim, so that nobody takes the row for the result of the call before.
UPDATE timer_task
SET status = 0,
    due_at = ?,
    reason = NULL,
    finished_at = NULL,
    claim_id = NULL,
    replay_count = COALESCE(replay_count, 0) + 1
WHERE run_timer = ? AND timer_id = ?
