-- 0001-foundation: timers, their tasks, nodes and settings.
-- Moments are epoch ms. Text compares by its bytes, as in SQLite.
-- IF NOT EXISTS, because MySQL commits each statement: a run that was cut off is simply repeated.

CREATE TABLE IF NOT EXISTS app (
  app VARCHAR(64) NOT NULL,
  signing_secret VARCHAR(255) NOT NULL,
  previous_secret VARCHAR(255) NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (app)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS xtimer (
  timer_id BIGINT NOT NULL AUTO_INCREMENT,
  app VARCHAR(64) NOT NULL,
  name VARCHAR(256) NOT NULL,
  name_lower VARCHAR(512) NOT NULL,
  description TEXT NOT NULL,
  status TINYINT NOT NULL,
  status_reason TEXT NULL,
  cron VARCHAR(512) NOT NULL,
  cron_dialect VARCHAR(16) NOT NULL,
  timezone VARCHAR(64) NOT NULL,
  notify_http_param LONGTEXT NOT NULL,
  policies LONGTEXT NOT NULL,
  bucket INT NOT NULL,
  version INT NOT NULL,
  revision INT NOT NULL,
  next_fire_at BIGINT NULL,
  planned_runs BIGINT NOT NULL,
  start_at BIGINT NULL,
  end_at BIGINT NULL,
  max_runs BIGINT NULL,
  toggled_at BIGINT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  created_by VARCHAR(128) NOT NULL,
  updated_by VARCHAR(128) NOT NULL,
  PRIMARY KEY (timer_id),
  KEY xtimer_due (status, bucket, next_fire_at, timer_id),
  KEY xtimer_app (app, timer_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Clustered by time: planning appends, a slice is one range. InnoDB adds the primary key to an index by itself,
-- but MySQL sorts by a column added so only where the index does not name the other one.
-- No index on status: each claim and each result would move its entry.
CREATE TABLE IF NOT EXISTS timer_task (
  run_timer BIGINT NOT NULL,
  timer_id BIGINT NOT NULL,
  app VARCHAR(64) NOT NULL,
  bucket SMALLINT UNSIGNED NOT NULL,
  status TINYINT NOT NULL,
  origin TINYINT NOT NULL,
  version INT NOT NULL,
  due_at BIGINT NOT NULL,
  attempt SMALLINT UNSIGNED NOT NULL,
  claim_id BIGINT NULL,
  started_at BIGINT NULL,
  finished_at BIGINT NULL,
  cost_time INT NULL,
  lateness BIGINT NULL,
  http_status SMALLINT UNSIGNED NULL,
  reason VARCHAR(32) NULL,
  skipped_count INT NULL,
  skipped_until BIGINT NULL,
  replay_count INT NULL,
  payload MEDIUMTEXT NULL,
  output MEDIUMTEXT NULL,
  error TEXT NULL,
  PRIMARY KEY (run_timer, timer_id),
  KEY timer_task_timer (timer_id),
  KEY timer_task_app (app, run_timer, timer_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS timer_task_attempt (
  run_timer BIGINT NOT NULL,
  timer_id BIGINT NOT NULL,
  attempt SMALLINT UNSIGNED NOT NULL,
  started_at BIGINT NOT NULL,
  cost_time INT NOT NULL,
  http_status SMALLINT UNSIGNED NULL,
  error TEXT NULL,
  output MEDIUMTEXT NULL,
  PRIMARY KEY (run_timer, timer_id, attempt)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- One row for each task that waits (status 0) for an instant other than its run_timer.
CREATE TABLE IF NOT EXISTS task_retry (
  due_at BIGINT NOT NULL,
  run_timer BIGINT NOT NULL,
  timer_id BIGINT NOT NULL,
  bucket SMALLINT UNSIGNED NOT NULL,
  PRIMARY KEY (due_at, run_timer, timer_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- What each node may be calling: written before the claim is made, removed some time after its last result.
CREATE TABLE IF NOT EXISTS task_claim (
  claim_id BIGINT NOT NULL,
  node_id VARCHAR(64) NOT NULL,
  created_at BIGINT NOT NULL,
  members MEDIUMTEXT NOT NULL,
  PRIMARY KEY (claim_id),
  KEY task_claim_node (node_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Up to where every task of the bucket is proven to have left status 0.
CREATE TABLE IF NOT EXISTS bucket_progress (
  bucket SMALLINT UNSIGNED NOT NULL,
  complete_until BIGINT NOT NULL,
  PRIMARY KEY (bucket)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS node (
  node_id VARCHAR(64) NOT NULL,
  host VARCHAR(255) NOT NULL,
  version VARCHAR(64) NOT NULL,
  roles VARCHAR(255) NOT NULL,
  buckets_num INT NOT NULL,
  started_at BIGINT NOT NULL,
  heartbeat_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  PRIMARY KEY (node_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS setting (
  name VARCHAR(128) NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
