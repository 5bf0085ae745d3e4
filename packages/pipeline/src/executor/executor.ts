import type { TimeBuckets } from '../buckets/ports.js';
import type { Events } from '../events.js';
import type { Clock, Random } from '../lifecycle/clock.js';
import type { NodeLease } from '../lifecycle/membership.js';
import type { CatchUp } from '../recovery/catch-up.js';
import { Reason, TaskStatus } from '../status.js';
import type { TaskStore } from '../timer/ports.js';
import { type ClaimedTask, type DueTask, type TaskResult, taskIdOf } from '../timer/task.js';
import type { Definition } from '../timer/timer.js';
import { decideResult } from './decide.js';
import type { Definitions } from './definitions.js';
import { DueQueue } from './due-queue.js';
import { Group } from './group.js';
import { hostOf } from './host.js';
import { Lanes } from './lanes.js';
import type { Callbacks } from './ports.js';
import { Turns } from './turns.js';

export interface ExecutorPorts {
  tasks: TaskStore;
  buckets: TimeBuckets;
  callbacks: Callbacks;
  definitions: Definitions;
  catchUp: Pick<CatchUp, 'settle'>;
  /** Puts retries into the sorted sets and, as they are due, back to us. */
  place: (tasks: readonly DueTask[]) => Promise<void>;
  lease: NodeLease;
  clock: Clock;
  random: Random;
  events: Events;
}

export interface ExecutorOptions {
  nodeId: string;
  /** Calls in flight on this node. */
  concurrency: number;
  /** Calls in flight to one target host. */
  perHost: number;
  /** Rows in one claim or one result write: beyond 1,000 nothing is gained (PERFORMANCE B). */
  groupLimit: number;
  /**
   * A task is claimed this long before it is due, ms, so that the claim's round trip costs no lateness and a
   * herd is claimed before it falls. What an edit or a pause must wait for before it answers.
   */
  claimLeadMs: number;
  /** A task held back by its timer's overlap rule is tried again after this, ms. */
  overlapRetryMs: number;
}

export const defaultExecutorOptions = {
  concurrency: 1000,
  perHost: 128,
  groupLimit: 1000,
  claimLeadMs: 50,
  overlapRetryMs: 250,
};

interface Claimed {
  task: ClaimedTask;
  definition: Definition;
  host: string;
  /** The node's lease at the claim: if it lapsed since, others may have taken the task back. */
  leaseToken: number;
}

/**
 * Executor: claims due tasks in groups, calls each at its millisecond, records results in groups.
 *
 * Promises   no call without a claim (compare-and-set in the database), none early, none after our node's
 *            lease lapsed; every call's result is written, later if the database is away.
 * Leans on   the claim refusing tasks whose timer was paused, edited or deleted, and tasks somebody else has.
 * If we die  recovery finds our claims under our node and gives the tasks back.
 */
export class Executor {
  /** Handed over and not ended: the trigger, the scheduler and the sweep may hand out a task any number of times. */
  private readonly known = new Set<string>();
  private readonly toClaim: DueQueue<DueTask>;
  private readonly toSend: DueQueue<Claimed>;
  private readonly lanes: Lanes<{ task: DueTask; host: string }>;
  private readonly results: Group<TaskResult>;
  private readonly turns = new Turns();
  private readonly cut = new AbortController();
  private claiming = 0;
  private stopping = false;
  private onIdle: (() => void) | null = null;

  constructor(
    private readonly ports: ExecutorPorts,
    private readonly options: ExecutorOptions,
  ) {
    const { clock, events } = ports;
    this.toClaim = new DueQueue(clock, (tasks) => this.enqueue(tasks));
    this.toSend = new DueQueue(clock, (claimed) => {
      for (const one of claimed) this.lanes.call(one.host, () => void this.send(one));
    });
    this.lanes = new Lanes(clock, {
      perNode: options.concurrency,
      // However few calls the node may make, no host has them all.
      perHost: Math.min(options.perHost, Math.max(1, Math.floor(options.concurrency / 2))),
    });
    this.results = new Group((batch) => this.record(batch), {
      limit: options.groupLimit,
      pause: (failures) => clock.sleepUntil(clock.now() + Math.min(1000, 100 * failures)),
      onFailure: (waiting, error) => events.emit('results.delayed', { waiting, error }),
      lighten: (result, error) => withoutOutput(result, error),
    });
  }

  /** Takes tasks that are due now or soon. Those it knows already are ignored, so nobody needs to keep count. */
  submit(tasks: readonly DueTask[]): void {
    if (this.stopping) return;
    const fresh: DueTask[] = [];
    for (const task of tasks) {
      const id = taskIdOf(task);
      if (this.known.has(id)) continue;
      this.known.add(id);
      fresh.push(task);
    }
    if (fresh.length > 0) void this.prepare(fresh);
  }

  get inFlight(): number {
    return this.lanes.inFlight;
  }

  /** Results of ended calls that wait to be written. */
  get resultsWaiting(): number {
    return this.results.size;
  }

  /** Takes no more; waits for calls in flight, at most `graceMs`, then cuts them; writes what has ended. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    for (const task of this.toClaim.clear()) this.known.delete(taskIdOf(task));
    const idle = new Promise<void>((resolve) => {
      this.onIdle = resolve;
    });
    this.tellIfIdle();
    const giveUp = new AbortController();
    const { clock } = this.ports;
    await Promise.race([idle, clock.sleepUntil(clock.now() + graceMs, giveUp.signal)]);
    giveUp.abort();
    // What is cut now stays claimed under this node: once we have left, recovery calls it again with the same key.
    this.cut.abort();
    const written = idle.then(() => this.results.flushed());
    const waited = new AbortController();
    await Promise.race([written, clock.sleepUntil(clock.now() + 5000, waited.signal)]);
    waited.abort();
  }

  /**
   * The host decides the lane, and the definition names the host: it must be at hand before the claim. Slots
   * missed by more than their timer's grace are settled by its misfire rule first: what is left out is refused
   * by the claim, what still runs has a new `dueAt`.
   */
  private async prepare(tasks: DueTask[]): Promise<void> {
    try {
      await this.ports.definitions.load(tasks.map((task) => task.timerId));
    } catch (error) {
      this.putBack(tasks, error);
      return;
    }
    const unsettled = new Set<number>();
    for (const [timerId, since] of this.missed(tasks)) {
      try {
        await this.ports.catchUp.settle(timerId, since);
      } catch (error) {
        // One bad timer waits, the others go on.
        unsettled.add(timerId);
        this.putBack(
          tasks.filter((task) => task.timerId === timerId),
          error,
        );
      }
    }
    for (const task of tasks) {
      if (!unsettled.has(task.timerId)) this.toClaim.add(task.dueAt - this.options.claimLeadMs, task);
    }
  }

  /** Forgotten here, they are handed out again with the next pass. */
  private putBack(tasks: readonly DueTask[], error: unknown): void {
    this.forget(tasks);
    this.ports.events.emit('stage.failed', { stage: 'executor', error: error as Error });
  }

  /** Timers with slots overdue by more than their grace, each with the oldest. A retry (`dueAt` moved) is no slot. */
  private missed(tasks: readonly DueTask[]): Map<number, number> {
    const now = this.ports.clock.now();
    const oldest = new Map<number, number>();
    for (const { timerId, runTimer, dueAt } of tasks) {
      const graceMs = this.ports.definitions.peek(timerId)?.policies.misfire.graceMs;
      if (graceMs === undefined || dueAt !== runTimer || now - dueAt <= graceMs) continue;
      oldest.set(timerId, Math.min(runTimer, oldest.get(timerId) ?? runTimer));
    }
    return oldest;
  }

  private enqueue(tasks: DueTask[]): void {
    if (this.stopping) {
      this.forget(tasks);
      return;
    }
    for (const task of tasks) {
      if (this.turns.hasEarlier(task)) {
        this.turns.wait(task);
        continue;
      }
      const host = hostOf(this.ports.definitions.peek(task.timerId));
      this.lanes.enqueue(host, { task, host });
    }
    this.claimNext();
  }

  /** One claim is under way at a time: what falls due meanwhile goes out with the next. */
  private claimNext(): void {
    if (this.claiming > 0 || this.stopping) return;
    const batch = this.lanes.take(this.options.groupLimit);
    if (batch.length === 0) return;
    this.claiming++;
    void this.claim(batch).finally(() => {
      this.claiming--;
      this.claimNext();
      this.tellIfIdle();
    });
  }

  private async claim(batch: { task: DueTask; host: string }[]): Promise<void> {
    const { clock, definitions, events, lease, random, tasks } = this.ports;
    const leaseToken = lease.token();
    const wanted = batch.map((one) => one.task);
    const claimId = Math.floor(random() * Number.MAX_SAFE_INTEGER);
    const now = clock.now();
    let claimed: ClaimedTask[];
    try {
      if (leaseToken === null) throw new Error("this node's lease has lapsed");
      claimed = await tasks.claim(wanted, {
        claimId,
        nodeId: this.options.nodeId,
        now: Math.floor(now),
        dueBy: Math.ceil(now + this.options.claimLeadMs),
        exclusive: this.exclusive(wanted),
      });
      await definitions.load(
        claimed.map((task) => task.timerId),
        new Map(claimed.map((task) => [task.timerId, task.revision])),
      );
    } catch (error) {
      events.emit('stage.failed', { stage: 'executor', error: error as Error });
      if (leaseToken !== null) await this.undoClaim(claimId, wanted);
      for (const one of batch) this.lanes.release(one.host);
      this.forget(wanted);
      return;
    }
    events.emit('task.claimed', { asked: wanted.length, claimed: claimed.length });

    const ours = new Map(claimed.map((task) => [taskIdOf(task), task]));
    const refused: DueTask[] = [];
    for (const { task, host } of batch) {
      const mine = ours.get(taskIdOf(task));
      const definition = this.ports.definitions.peek(task.timerId);
      if (mine && definition) this.toSend.add(mine.dueAt, { task: mine, definition, host, leaseToken });
      else {
        refused.push(task);
        this.lanes.release(host);
      }
    }
    for (const task of claimed) this.nextInLine(task);
    const held = refused.length > 0 ? await this.holdBack(refused) : new Set<DueTask>();
    await this.tidy(
      wanted.filter((task) => !held.has(task)),
      refused.filter((task) => !held.has(task)),
    );
  }

  /** Timers among these that allow one running task at a time. */
  private exclusive(tasks: readonly DueTask[]): Set<number> {
    const timerIds = tasks.map((task) => task.timerId);
    return new Set(timerIds.filter((id) => (this.overlapRule(id) ?? 'allow') !== 'allow'));
  }

  /**
   * Of refused tasks, those whose timer is busy with another task: the overlap rule skips a slot, or has it wait
   * here. A retry always waits. Resolves to the tasks that wait.
   */
  private async holdBack(refused: readonly DueTask[]): Promise<Set<DueTask>> {
    const { clock, events, tasks } = this.ports;
    const waiting = new Set<DueTask>();
    for (const task of refused) {
      const rule = this.overlapRule(task.timerId) ?? 'allow';
      if (rule === 'allow') continue;
      try {
        const running = await tasks.running(task.timerId);
        if (!running || running.runTimer === task.runTimer) continue;
        const skips = rule === 'skip' && task.dueAt === task.runTimer;
        if (!skips) waiting.add(task);
        else if ((await tasks.skip([task], Reason.overlap, Math.floor(clock.now()))) > 0) {
          events.emit('task.skipped', { timerId: task.timerId, runTimer: task.runTimer, reason: Reason.overlap });
        }
      } catch (error) {
        waiting.add(task);
        events.emit('stage.failed', { stage: 'executor', error: error as Error });
      }
    }
    for (const task of waiting) if (this.turns.wait(task)) this.tryLater(task);
    for (const task of refused) if (!waiting.has(task)) this.nextInLine(task);
    return waiting;
  }

  private tryLater(task: DueTask): void {
    this.toClaim.add(this.ports.clock.now() + this.options.overlapRetryMs, task);
  }

  private nextInLine(task: DueTask): void {
    const next = this.turns.leave(task);
    if (next) this.tryLater(next);
  }

  private overlapRule(timerId: number) {
    return this.ports.definitions.peek(timerId)?.policies.overlap;
  }

  /** The claim may have taken effect although we never heard so: before anyone tries again it is ended for sure. */
  private async undoClaim(claimId: number, tasks: DueTask[]): Promise<void> {
    const { clock } = this.ports;
    for (;;) {
      try {
        return await this.ports.tasks.unclaim(claimId, tasks);
      } catch {
        if (this.cut.signal.aborted) return;
        await clock.sleepUntil(clock.now() + 200, this.cut.signal);
      }
    }
  }

  /** Takes claimed tasks out of the index, and gives those nobody will ever call their final state. */
  private async tidy(wanted: DueTask[], refused: DueTask[]): Promise<void> {
    const { buckets, clock, events, tasks } = this.ports;
    try {
      if (refused.length > 0) await tasks.cancelObsolete(refused, Math.floor(clock.now()));
    } catch (error) {
      events.emit('stage.failed', { stage: 'executor', error: error as Error });
    }
    this.forget(refused);
    // A member left behind is refused by the claim when it is handed out again: no harm, so nobody waits.
    buckets.remove(wanted).catch(() => {});
  }

  private async send({ task, definition, host, leaseToken }: Claimed): Promise<void> {
    const { callbacks, clock, events, lease } = this.ports;
    if (lease.token() !== leaseToken) {
      events.emit('task.leaseLost', { timerId: task.timerId, runTimer: task.runTimer });
      await this.handBack(task, host);
      return;
    }
    if (this.cut.signal.aborted) {
      await this.handBack(task, host);
      return;
    }
    const startedAt = clock.now();
    const answer = await callbacks.call(task, definition, this.cut.signal);
    const finishedAt = clock.now();
    this.lanes.callEnded(host);
    if (answer.error?.code !== 'CALLBACK_ABORTED') {
      const { random } = this.ports;
      const { status, dueAt, error } = decideResult(answer, definition.policies, {
        attempt: task.attempt,
        maxAttempts: task.maxAttempts ?? undefined,
        now: finishedAt,
        random,
      });
      this.results.add({
        timerId: task.timerId,
        runTimer: task.runTimer,
        claimId: task.claimId,
        bucket: task.bucket,
        attempt: task.attempt,
        status,
        error,
        dueAt: dueAt ?? task.dueAt,
        startedAt: Math.floor(startedAt),
        finishedAt: Math.floor(finishedAt),
        costTime: Math.round(finishedAt - startedAt),
        lateness: task.attempt === 1 ? Math.round(startedAt - task.runTimer) : null,
        httpStatus: answer.httpStatus,
        output: answer.output,
        reason: null,
      });
    }
    this.lanes.release(host);
    this.claimNext();
    this.tellIfIdle();
  }

  private async record(batch: TaskResult[]): Promise<void> {
    const written = new Set((await this.ports.tasks.finish(batch)).map(taskIdOf));
    this.forget(batch);
    for (const result of batch) {
      if (written.has(taskIdOf(result))) this.ports.events.emit('task.finished', { result });
      else this.ports.events.emit('task.outcomeLost', { timerId: result.timerId, runTimer: result.runTimer });
    }
    const retries = batch.filter((result) => result.status === TaskStatus.notRun && written.has(taskIdOf(result)));
    // Written they are safe; should placing them fail, the sweep finds them.
    await this.ports
      .place(retries.map(({ timerId, runTimer, bucket, dueAt }) => ({ timerId, runTimer, bucket, dueAt })))
      .catch((error) => this.ports.events.emit('stage.failed', { stage: 'executor', error }));
  }

  /**
   * A claimed task whose call was not made is for anyone to take. Nobody else may have seen that our lease lapsed:
   * renewed meanwhile, it would hold the task for ever.
   */
  private async handBack(task: ClaimedTask, host: string): Promise<void> {
    await this.undoClaim(task.claimId, [task]);
    this.lanes.callEnded(host);
    this.lanes.release(host);
    this.forget([task]);
    this.claimNext();
    this.tellIfIdle();
  }

  private forget(tasks: readonly { timerId: number; runTimer: number }[]): void {
    for (const task of tasks) this.known.delete(taskIdOf(task));
  }

  private tellIfIdle(): void {
    if (this.claiming === 0 && this.lanes.inFlight === 0) this.onIdle?.();
  }
}

/** A result whose texts the database would not take: the outcome matters more. */
function withoutOutput(result: TaskResult, error: Error): TaskResult {
  const reason = `RESULT_REFUSED: the database refused what came back (${error.name})`;
  return { ...result, output: null, error: result.error === null ? null : reason };
}
