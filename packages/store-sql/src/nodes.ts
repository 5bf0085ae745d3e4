import type { NodeInfo, NodeRecord } from '@xtimer/pipeline';
import type { Dialect } from './dialect.js';
import { affected, rows, type Work } from './work.js';

interface NodeRow {
  node_id: string;
  host: string;
  version: string;
  roles: string;
  buckets_num: number;
  started_at: number;
  heartbeat_at: number;
  lease_until: number;
}

const COLUMNS = ['node_id', 'host', 'version', 'roles', 'buckets_num', 'started_at', 'heartbeat_at', 'lease_until'];

/** Resolves to every node alive now, this one included. */
export function* heartbeat(dialect: Dialect, node: NodeInfo, now: number, leaseMs: number): Work<NodeRecord[]> {
  yield* affected(
    `INSERT INTO node (${COLUMNS.join(', ')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ${dialect.orUpdate('node_id', COLUMNS.slice(1))}`,
    node.nodeId,
    node.host,
    node.version,
    JSON.stringify(node.roles),
    node.bucketsNum,
    Math.floor(node.startedAt),
    now,
    now + leaseMs,
  );
  const alive = yield* rows<NodeRow>('SELECT * FROM node WHERE lease_until >= ? ORDER BY node_id', now);
  return alive.map((row) => ({
    nodeId: row.node_id,
    host: row.host,
    version: row.version,
    roles: JSON.parse(row.roles),
    bucketsNum: row.buckets_num,
    startedAt: row.started_at,
    heartbeatAt: row.heartbeat_at,
    leaseUntil: row.lease_until,
  }));
}

/** A node that leaves with calls in flight is remembered as dead, so that recovery takes them at once. */
export function* leave(nodeId: string): Work<void> {
  const [claim] = yield* rows('SELECT claim_id FROM task_claim WHERE node_id = ? LIMIT 1', nodeId);
  if (claim) yield* affected('UPDATE node SET lease_until = 0 WHERE node_id = ?', nodeId);
  else yield* affected('DELETE FROM node WHERE node_id = ?', nodeId);
}
