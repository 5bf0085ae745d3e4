-- 0003-jobs: topics and their jobs. A job's task is a row of timer_task; its timer_id is topic_id * 2^32 + sequence.

CREATE TABLE IF NOT EXISTS topic (
  topic_id INT NOT NULL AUTO_INCREMENT,
  app VARCHAR(64) NOT NULL,
  topic VARCHAR(128) NOT NULL,
  description TEXT NOT NULL,
  status TINYINT NOT NULL,
  notify_http_param LONGTEXT NOT NULL,
  policies LONGTEXT NOT NULL,
  slot_amount INT NOT NULL,
  revision INT NOT NULL,
  resumed_at BIGINT NULL,
  next_sequence BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  created_by VARCHAR(128) NOT NULL,
  updated_by VARCHAR(128) NOT NULL,
  -- Its own id once the topic is deleted, which frees its name.
  deleted_as INT NOT NULL DEFAULT 0,
  PRIMARY KEY (topic_id),
  UNIQUE KEY topic_name (app, topic, deleted_as),
  KEY topic_resumed (resumed_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- job_id holds UTF-8 as bytes, because text would compare without its trailing spaces.
CREATE TABLE IF NOT EXISTS job (
  topic_id INT NOT NULL,
  job_id VARBINARY(512) NOT NULL,
  timer_id BIGINT NOT NULL,
  run_timer BIGINT NOT NULL,
  slot INT NOT NULL,
  payload_hash CHAR(43) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (topic_id, job_id),
  KEY job_time (topic_id, run_timer, timer_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- NULL: as the policy says.
ALTER TABLE timer_task ADD COLUMN max_attempts SMALLINT UNSIGNED NULL;

-- A topic's jobs that are held back: they share one due_at.
ALTER TABLE task_retry ADD KEY task_retry_due (due_at, timer_id);
