/** What the probes answer. The contracts have no schemas for them; the test against the real server holds them to it. */

export interface Health {
  status: 'up';
  version: string;
  nodeId: string;
  mode: 'embedded' | 'clustered';
  roles: ('api' | 'worker')[];
  /** The release of Node. */
  node: string;
  /** The release of the time zone data. */
  tz: string;
}

export interface Readiness {
  status: 'ready';
  database: 'up';
  /** Down: timers fire from the database meanwhile. */
  buckets: 'up' | 'down';
}
