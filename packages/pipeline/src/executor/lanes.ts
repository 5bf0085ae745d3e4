import type { Clock } from '../lifecycle/clock.js';

/** A lane looks this far back to see how fast its host answers. */
const PACE_WINDOW_MS = 100;

interface Lane<T> {
  waiting: T[];
  head: number;
  /** Taken out and not done yet: being claimed, waiting for their instant, or calling. */
  taken: number;
  /** Calls on their way. */
  calling: number;
  /** Claimed and due, waiting for a free call. */
  ready: (() => void)[];
  /** In `readyTurn`. */
  inTurn: boolean;
  /** Calls that ended in the pace window under way and in the one before. */
  ended: number;
  endedBefore: number;
  windowStart: number;
}

/**
 * One lane for each target host, so that a slow host delays nobody else: a lane is given no more tasks than
 * its host has calls free, plus what the host lately answered in a tenth of a second, so that a fast one
 * never waits for a claim. What does not fit stays unclaimed, and another node may take it.
 */
export class Lanes<T> {
  private lanes = new Map<string, Lane<T>>();
  /** Lanes with something waiting, in turn. */
  private turn: string[] = [];
  /** Lanes whose host has a call free for what is ready, in turn: they wait for the node only. */
  private readyTurn: string[] = [];
  private taken = 0;
  private calling = 0;

  constructor(
    private readonly clock: Pick<Clock, 'now'>,
    private readonly limits: { perNode: number; perHost: number },
  ) {}

  /** Puts a task at the end of its host's lane. */
  enqueue(host: string, item: T): void {
    const lane = this.lane(host);
    if (lane.head === lane.waiting.length) this.turn.push(host);
    lane.waiting.push(item);
  }

  /** Takes up to `limit` tasks that may be claimed now, lanes in turn. */
  take(limit: number): T[] {
    const batch: T[] = [];
    let room = Math.min(limit, this.limits.perNode * 2 - this.taken);
    for (let lanesLeft = this.turn.length; lanesLeft > 0 && room > 0; lanesLeft--) {
      const host = this.turn.shift()!;
      const lane = this.lane(host);
      const share = Math.min(room, this.allowance(lane) - lane.taken, lane.waiting.length - lane.head);
      for (let i = 0; i < share; i++) batch.push(lane.waiting[lane.head++]!);
      if (share > 0) {
        lane.taken += share;
        this.taken += share;
        room -= share;
      }
      const left = lane.waiting.length - lane.head;
      if (left > 0) this.turn.push(host);
      if (left === 0 || lane.head > 1000) {
        lane.waiting = lane.waiting.slice(lane.head);
        lane.head = 0;
      }
    }
    return batch;
  }

  /** A taken task is done with, or was not to be had. */
  release(host: string): void {
    const lane = this.lane(host);
    lane.taken--;
    this.taken--;
    if (lane.taken === 0 && lane.head === lane.waiting.length) this.lanes.delete(host);
  }

  /** Runs `start` now, or as soon as the host and the node have a call free. */
  call(host: string, start: () => void): void {
    const lane = this.lane(host);
    lane.ready.push(start);
    this.offer(host, lane);
    this.startReady();
  }

  /** A call that `call` started has ended. */
  callEnded(host: string): void {
    const lane = this.lane(host);
    this.turnWindow(lane);
    lane.ended++;
    lane.calling--;
    this.calling--;
    this.offer(host, lane);
    this.startReady();
  }

  get inFlight(): number {
    return this.taken;
  }

  private offer(host: string, lane: Lane<T>): void {
    if (lane.inTurn || lane.ready.length === 0 || lane.calling >= this.limits.perHost) return;
    lane.inTurn = true;
    this.readyTurn.push(host);
  }

  private startReady(): void {
    while (this.calling < this.limits.perNode && this.readyTurn.length > 0) {
      const host = this.readyTurn.shift()!;
      const lane = this.lane(host);
      const start = lane.ready.shift()!;
      lane.inTurn = false;
      lane.calling++;
      this.calling++;
      this.offer(host, lane);
      start();
    }
  }

  private allowance(lane: Lane<T>): number {
    this.turnWindow(lane);
    return this.limits.perHost + Math.max(lane.ended, lane.endedBefore);
  }

  private turnWindow(lane: Lane<T>): void {
    const now = this.clock.now();
    const windows = Math.floor((now - lane.windowStart) / PACE_WINDOW_MS);
    if (windows <= 0) return;
    lane.endedBefore = windows === 1 ? lane.ended : 0;
    lane.ended = 0;
    lane.windowStart += windows * PACE_WINDOW_MS;
  }

  private lane(host: string): Lane<T> {
    let lane = this.lanes.get(host);
    if (!lane) {
      lane = {
        waiting: [],
        head: 0,
        taken: 0,
        calling: 0,
        ready: [],
        inTurn: false,
        ended: 0,
        endedBefore: 0,
        windowStart: this.clock.now(),
      };
      this.lanes.set(host, lane);
    }
    return lane;
  }
}
