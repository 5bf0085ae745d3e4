import { bucketsFor } from '../buckets/assign.js';
import type { Events } from '../events.js';
import type { NodeInfo, NodeRecord, TaskStore } from '../timer/ports.js';
import type { Clock } from './clock.js';

/** The right of this node to act on what it claimed. */
export interface NodeLease {
  /** Names the unbroken lease we hold; `null` when it has lapsed. Another token later: others may have taken our work back. */
  token(): number | null;
}

export interface MembershipOptions {
  /** What a node claimed is taken back this long after its last sign of life, ms. With the passes of recovery: within 15 s. */
  leaseMs: number;
  /** A node silent for this long gets no buckets, ms. Others then take its slices as soon as their locks lapse. */
  aliveMs: number;
}

export const defaultMembershipOptions: MembershipOptions = { leaseMs: 10_000, aliveMs: 2_500 };

/**
 * Membership: says that we live, sees who else does, and knows which buckets are ours.
 *
 * Promises   all nodes that read the same registry agree on the buckets; a lease that lapsed is never
 *            silently resumed: it gets a new token.
 * If we die  our record goes stale: within `aliveMs` others count us out, after `leaseMs` they recover our claims.
 */
export class Membership implements NodeLease {
  private leaseUntil = 0;
  private leaseToken = 0;
  private steadySince: number | null = null;
  private answeredAt = Number.NEGATIVE_INFINITY;
  private live: NodeRecord[] = [];
  private mine: number[] = [];

  constructor(
    private readonly tasks: Pick<TaskStore, 'heartbeat' | 'leave'>,
    private node: NodeInfo,
    private readonly clock: Clock,
    private readonly events: Events,
    private readonly options = defaultMembershipOptions,
  ) {}

  async pass(): Promise<void> {
    const sentAt = Math.floor(this.clock.now());
    const records = await this.tasks.heartbeat(this.node, sentAt, this.options.leaseMs);
    const silent = !this.isHeard();
    this.answeredAt = this.clock.now();
    if (silent) this.steadySince = this.answeredAt;
    if (sentAt >= this.leaseUntil) this.leaseToken++;
    this.leaseUntil = sentAt + this.options.leaseMs;

    const live = records.filter((record) => record.heartbeatAt > sentAt - this.options.aliveMs);
    for (const { nodeId } of live.filter((now) => !this.live.some((before) => before.nodeId === now.nodeId))) {
      if (nodeId !== this.node.nodeId) this.events.emit('node.joined', { nodeId });
    }
    for (const { nodeId } of this.live.filter((before) => !live.some((now) => now.nodeId === before.nodeId))) {
      this.events.emit('node.left', { nodeId });
    }
    this.live = live;
    const workers = live.filter((record) => record.roles.includes('worker')).map((record) => record.nodeId);
    this.mine = bucketsFor(this.node.nodeId, workers, this.node.bucketsNum);
  }

  token(): number | null {
    return this.clock.now() < this.leaseUntil ? this.leaseToken : null;
  }

  /** Buckets this node looks after first, ascending. */
  buckets(): readonly number[] {
    return this.mine;
  }

  nodes(): readonly NodeRecord[] {
    return this.live;
  }

  /**
   * Whether we may call others dead: only after a whole lease without a gap of our own. After the database was
   * away every lease looks lapsed, and each node must have had its chance to renew.
   */
  mayJudge(): boolean {
    const steady = this.steadySince !== null && this.clock.now() >= this.steadySince + this.options.leaseMs;
    return steady && this.isHeard() && this.token() !== null;
  }

  /** Whether the registry answered us lately: a gap of ours may be one of everybody's. */
  private isHeard(): boolean {
    return this.clock.now() - this.answeredAt <= this.options.aliveMs;
  }

  /** Takes no more buckets; the lease goes on for the calls in flight. */
  async drain(): Promise<void> {
    this.node = { ...this.node, roles: [] };
    await this.pass();
  }

  /** Leaves at once, so that others need not wait for the lease. */
  async leave(): Promise<void> {
    await this.tasks.leave(this.node.nodeId);
  }
}
