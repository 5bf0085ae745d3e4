CREATE TABLE `app` (
  `app` varchar(64) NOT NULL,
  `signing_secret` varchar(255) NOT NULL,
  `previous_secret` varchar(255) DEFAULT NULL,
  `created_at` bigint(20) NOT NULL,
  `retention_days` int(11) DEFAULT NULL,
  PRIMARY KEY (`app`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `bucket_progress` (
  `bucket` smallint(5) unsigned NOT NULL,
  `complete_until` bigint(20) NOT NULL,
  PRIMARY KEY (`bucket`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `job` (
  `topic_id` int(11) NOT NULL,
  `job_id` varbinary(512) NOT NULL,
  `timer_id` bigint(20) NOT NULL,
  `run_timer` bigint(20) NOT NULL,
  `slot` int(11) NOT NULL,
  `payload_hash` char(43) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `created_at` bigint(20) NOT NULL,
  PRIMARY KEY (`topic_id`,`job_id`),
  KEY `job_time` (`topic_id`,`run_timer`,`timer_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `migrations` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `timestamp` bigint(20) NOT NULL,
  `name` varchar(255) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;

CREATE TABLE `node` (
  `node_id` varchar(64) NOT NULL,
  `host` varchar(255) NOT NULL,
  `version` varchar(64) NOT NULL,
  `roles` varchar(255) NOT NULL,
  `buckets_num` int(11) NOT NULL,
  `started_at` bigint(20) NOT NULL,
  `heartbeat_at` bigint(20) NOT NULL,
  `lease_until` bigint(20) NOT NULL,
  PRIMARY KEY (`node_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `setting` (
  `name` varchar(128) NOT NULL,
  `value` text NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `task_claim` (
  `claim_id` bigint(20) NOT NULL,
  `node_id` varchar(64) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `members` mediumtext NOT NULL,
  PRIMARY KEY (`claim_id`),
  KEY `task_claim_node` (`node_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `task_retry` (
  `due_at` bigint(20) NOT NULL,
  `run_timer` bigint(20) NOT NULL,
  `timer_id` bigint(20) NOT NULL,
  `bucket` smallint(5) unsigned NOT NULL,
  PRIMARY KEY (`due_at`,`run_timer`,`timer_id`),
  KEY `task_retry_timer` (`timer_id`),
  KEY `task_retry_due` (`due_at`,`timer_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `timer_running` (
  `timer_id` bigint(20) NOT NULL,
  `run_timer` bigint(20) NOT NULL,
  `claim_id` bigint(20) NOT NULL,
  PRIMARY KEY (`timer_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `timer_task` (
  `run_timer` bigint(20) NOT NULL,
  `timer_id` bigint(20) NOT NULL,
  `app` varchar(64) NOT NULL,
  `bucket` smallint(5) unsigned NOT NULL,
  `status` tinyint(4) NOT NULL,
  `origin` tinyint(4) NOT NULL,
  `version` int(11) NOT NULL,
  `due_at` bigint(20) NOT NULL,
  `attempt` smallint(5) unsigned NOT NULL,
  `claim_id` bigint(20) DEFAULT NULL,
  `started_at` bigint(20) DEFAULT NULL,
  `finished_at` bigint(20) DEFAULT NULL,
  `cost_time` int(11) DEFAULT NULL,
  `lateness` bigint(20) DEFAULT NULL,
  `http_status` smallint(5) unsigned DEFAULT NULL,
  `reason` varchar(32) DEFAULT NULL,
  `skipped_count` int(11) DEFAULT NULL,
  `skipped_until` bigint(20) DEFAULT NULL,
  `replay_count` int(11) DEFAULT NULL,
  `payload` mediumtext DEFAULT NULL,
  `output` mediumtext DEFAULT NULL,
  `error` text DEFAULT NULL,
  `max_attempts` smallint(5) unsigned DEFAULT NULL,
  PRIMARY KEY (`run_timer`,`timer_id`),
  KEY `timer_task_timer` (`timer_id`),
  KEY `timer_task_app` (`app`,`run_timer`,`timer_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `timer_task_attempt` (
  `run_timer` bigint(20) NOT NULL,
  `timer_id` bigint(20) NOT NULL,
  `attempt` smallint(5) unsigned NOT NULL,
  `started_at` bigint(20) NOT NULL,
  `cost_time` int(11) NOT NULL,
  `http_status` smallint(5) unsigned DEFAULT NULL,
  `error` text DEFAULT NULL,
  `output` mediumtext DEFAULT NULL,
  PRIMARY KEY (`run_timer`,`timer_id`,`attempt`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `topic` (
  `topic_id` int(11) NOT NULL AUTO_INCREMENT,
  `app` varchar(64) NOT NULL,
  `topic` varchar(128) NOT NULL,
  `description` text NOT NULL,
  `status` tinyint(4) NOT NULL,
  `notify_http_param` longtext NOT NULL,
  `policies` longtext NOT NULL,
  `slot_amount` int(11) NOT NULL,
  `revision` int(11) NOT NULL,
  `resumed_at` bigint(20) DEFAULT NULL,
  `next_sequence` bigint(20) NOT NULL DEFAULT 0,
  `created_at` bigint(20) NOT NULL,
  `updated_at` bigint(20) NOT NULL,
  `created_by` varchar(128) NOT NULL,
  `updated_by` varchar(128) NOT NULL,
  `deleted_as` int(11) NOT NULL DEFAULT 0,
  PRIMARY KEY (`topic_id`),
  UNIQUE KEY `topic_name` (`app`,`topic`,`deleted_as`),
  KEY `topic_resumed` (`resumed_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `xtimer` (
  `timer_id` bigint(20) NOT NULL AUTO_INCREMENT,
  `app` varchar(64) NOT NULL,
  `name` varchar(256) NOT NULL,
  `name_lower` varchar(512) NOT NULL,
  `description` text NOT NULL,
  `status` tinyint(4) NOT NULL,
  `status_reason` text DEFAULT NULL,
  `cron` varchar(512) NOT NULL,
  `cron_dialect` varchar(16) NOT NULL,
  `timezone` varchar(64) NOT NULL,
  `notify_http_param` longtext NOT NULL,
  `policies` longtext NOT NULL,
  `bucket` int(11) NOT NULL,
  `version` int(11) NOT NULL,
  `revision` int(11) NOT NULL,
  `next_fire_at` bigint(20) DEFAULT NULL,
  `planned_runs` bigint(20) NOT NULL,
  `start_at` bigint(20) DEFAULT NULL,
  `end_at` bigint(20) DEFAULT NULL,
  `max_runs` bigint(20) DEFAULT NULL,
  `toggled_at` bigint(20) DEFAULT NULL,
  `created_at` bigint(20) NOT NULL,
  `updated_at` bigint(20) NOT NULL,
  `created_by` varchar(128) NOT NULL,
  `updated_by` varchar(128) NOT NULL,
  `failures_in_row` int(11) NOT NULL DEFAULT 0,
  PRIMARY KEY (`timer_id`),
  KEY `xtimer_due` (`status`,`bucket`,`next_fire_at`,`timer_id`),
  KEY `xtimer_app` (`app`,`timer_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
