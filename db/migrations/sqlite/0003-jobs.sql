-- 0003-jobs: topics and their jobs. A job's task is a row of timer_task; its timer_id is topic_id * 2^32 + sequence.

CREATE TABLE topic (
  topic_id INTEGER PRIMARY KEY AUTOINCREMENT,
  app TEXT NOT NULL,
  topic TEXT NOT NULL,
  description TEXT NOT NULL,
  status INTEGER NOT NULL,
  notify_http_param TEXT NOT NULL,
  policies TEXT NOT NULL,
  slot_amount INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  resumed_at INTEGER NULL,
  next_sequence INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  updated_by TEXT NOT NULL,
  -- Its own id once the topic is deleted, which frees its name.
  deleted_as INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX topic_name ON topic (app, topic, deleted_as);
CREATE INDEX topic_resumed ON topic (resumed_at);

CREATE TABLE job (
  topic_id INTEGER NOT NULL,
  job_id TEXT NOT NULL,
  timer_id INTEGER NOT NULL,
  run_timer INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  payload_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (topic_id, job_id)
) WITHOUT ROWID;
CREATE INDEX job_time ON job (topic_id, run_timer, timer_id);

-- NULL: as the policy says.
ALTER TABLE timer_task ADD COLUMN max_attempts INTEGER NULL;

-- A topic's jobs that are held back: they share one due_at.
CREATE INDEX task_retry_due ON task_retry (due_at, timer_id);
