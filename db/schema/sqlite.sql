CREATE TABLE app (
  app TEXT NOT NULL,
  signing_secret TEXT NOT NULL,
  previous_secret TEXT NULL,
  created_at INTEGER NOT NULL, retention_days INTEGER NULL,
  PRIMARY KEY (app)
) WITHOUT ROWID;

CREATE TABLE bucket_progress (
  bucket INTEGER NOT NULL,
  complete_until INTEGER NOT NULL,
  PRIMARY KEY (bucket)
) WITHOUT ROWID;

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

CREATE TABLE "migrations" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "timestamp" bigint NOT NULL, "name" varchar NOT NULL);

CREATE TABLE node (
  node_id TEXT NOT NULL,
  host TEXT NOT NULL,
  version TEXT NOT NULL,
  roles TEXT NOT NULL,
  buckets_num INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  heartbeat_at INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  PRIMARY KEY (node_id)
) WITHOUT ROWID;

CREATE TABLE setting (
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (name)
) WITHOUT ROWID;

CREATE TABLE task_claim (
  claim_id INTEGER NOT NULL,
  node_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  members TEXT NOT NULL,
  PRIMARY KEY (claim_id)
) WITHOUT ROWID;

CREATE INDEX task_claim_node ON task_claim (node_id);

CREATE TABLE task_retry (
  due_at INTEGER NOT NULL,
  run_timer INTEGER NOT NULL,
  timer_id INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  PRIMARY KEY (due_at, run_timer, timer_id)
) WITHOUT ROWID;

CREATE INDEX task_retry_due ON task_retry (due_at, timer_id);

CREATE INDEX task_retry_timer ON task_retry (timer_id);

CREATE TABLE timer_running (
  timer_id INTEGER NOT NULL,
  run_timer INTEGER NOT NULL,
  claim_id INTEGER NOT NULL,
  PRIMARY KEY (timer_id)
) WITHOUT ROWID;

CREATE TABLE timer_task (
  run_timer INTEGER NOT NULL,
  timer_id INTEGER NOT NULL,
  app TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  status INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  version INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  claim_id INTEGER NULL,
  started_at INTEGER NULL,
  finished_at INTEGER NULL,
  cost_time INTEGER NULL,
  lateness INTEGER NULL,
  http_status INTEGER NULL,
  reason TEXT NULL,
  skipped_count INTEGER NULL,
  skipped_until INTEGER NULL,
  replay_count INTEGER NULL,
  payload TEXT NULL,
  output TEXT NULL,
  error TEXT NULL, max_attempts INTEGER NULL,
  PRIMARY KEY (run_timer, timer_id)
) WITHOUT ROWID;

CREATE INDEX timer_task_app ON timer_task (app, run_timer, timer_id);

CREATE INDEX timer_task_timer ON timer_task (timer_id, run_timer);

CREATE TABLE timer_task_attempt (
  run_timer INTEGER NOT NULL,
  timer_id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  cost_time INTEGER NOT NULL,
  http_status INTEGER NULL,
  error TEXT NULL,
  output TEXT NULL,
  PRIMARY KEY (run_timer, timer_id, attempt)
) WITHOUT ROWID;

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

  deleted_as INTEGER NOT NULL DEFAULT 0
);

CREATE UNIQUE INDEX topic_name ON topic (app, topic, deleted_as);

CREATE INDEX topic_resumed ON topic (resumed_at);

CREATE TABLE xtimer (
  timer_id INTEGER PRIMARY KEY AUTOINCREMENT,
  app TEXT NOT NULL,
  name TEXT NOT NULL,
  name_lower TEXT NOT NULL,
  description TEXT NOT NULL,
  status INTEGER NOT NULL,
  status_reason TEXT NULL,
  cron TEXT NOT NULL,
  cron_dialect TEXT NOT NULL,
  timezone TEXT NOT NULL,
  notify_http_param TEXT NOT NULL,
  policies TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  version INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  next_fire_at INTEGER NULL,
  planned_runs INTEGER NOT NULL,
  start_at INTEGER NULL,
  end_at INTEGER NULL,
  max_runs INTEGER NULL,
  toggled_at INTEGER NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  updated_by TEXT NOT NULL
, failures_in_row INTEGER NOT NULL DEFAULT 0);

CREATE INDEX xtimer_app ON xtimer (app, timer_id);

CREATE INDEX xtimer_due ON xtimer (status, bucket, next_fire_at, timer_id);
