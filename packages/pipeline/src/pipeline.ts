import { IndexKeeper } from './buckets/index-keeper.js';
import type { SliceLocks, TimeBuckets } from './buckets/ports.js';
import { Events } from './events.js';
import { Definitions } from './executor/definitions.js';
import { defaultExecutorOptions, Executor } from './executor/executor.js';
import type { Callbacks } from './executor/ports.js';
import type { JobStore } from './job/ports.js';
import { JobService } from './job/service.js';
import type { Clock, Random } from './lifecycle/clock.js';
import { Loop } from './lifecycle/loop.js';
import { Membership } from './lifecycle/membership.js';
import { horizonOf } from './migrator/horizon.js';
import { defaultMigratorOptions, Migrator } from './migrator/migrator.js';
import { AutoPause } from './recovery/auto-pause.js';
import { CatchUp } from './recovery/catch-up.js';
import { Recovery } from './recovery/recovery.js';
import { defaultSchedulerOptions, Scheduler } from './scheduler/scheduler.js';
import type { NodeInfo, TaskStore, TimerStore } from './timer/ports.js';
import { TimerService } from './timer/service.js';
import type { DueTask } from './timer/task.js';
import { defaultTriggerOptions, Trigger } from './trigger/trigger.js';

export interface PipelinePorts {
  timers: TimerStore;
  tasks: TaskStore;
  jobs: JobStore;
  buckets: TimeBuckets;
  locks: SliceLocks;
  callbacks: Callbacks;
  clock: Clock;
  random: Random;
}

export interface PipelineOptions {
  node: NodeInfo;
  /** Calls in flight on this node. */
  concurrency?: number;
  /** Calls in flight to one target host. */
  perHost?: number;
}

/** How often each stage passes, ms. Whoever drives the loops keeps this beat. */
export const cadence = { heartbeat: 1_000, schedule: 500, trigger: 1_000, migrate: 10_000, recover: 1_000 };

/**
 * One node's pipeline: the stages, wired, each behind the loop that keeps its passes apart.
 *
 *   migrator ─► rows + sorted sets ─► scheduler (locks) ─► trigger ─► executor ─► callback ─► history
 *                                            recovery: takes back what a dead node had claimed
 */
export class Pipeline {
  readonly events = new Events();
  readonly membership: Membership;
  readonly executor: Executor;
  readonly scheduler: Scheduler;
  readonly commands: TimerService;
  readonly jobs: JobService;
  readonly index: IndexKeeper;
  readonly loops: Record<keyof typeof cadence, Loop>;
  private readonly worker: boolean;

  constructor(ports: PipelinePorts, options: PipelineOptions) {
    const { buckets, callbacks, clock, jobs, locks, random, tasks, timers } = ports;
    const { node } = options;
    const { bucketsNum, nodeId } = node;
    const { events } = this;
    this.worker = node.roles.includes('worker');

    this.membership = new Membership(tasks, node, clock, events);
    const { membership } = this;
    this.index = new IndexKeeper(
      { buckets, tasks, membership, clock, events },
      { horizonOf: (bucket) => horizonOf(bucket, bucketsNum, clock.now()), pageSize: 1_000 },
    );
    const submit = (due: readonly DueTask[]) => {
      if (this.worker) this.executor.submit(due);
    };
    const place = async (due: readonly DueTask[]) => {
      await this.index.add(due);
      submit(due.filter((task) => task.dueAt < clock.now() + defaultTriggerOptions.readAheadMs));
    };
    const definitions = new Definitions(timers);
    const catchUp = new CatchUp({ timers, tasks, clock, events, place });
    this.executor = new Executor(
      {
        tasks,
        buckets,
        callbacks,
        definitions,
        catchUp,
        place,
        lease: membership,
        clock,
        random,
        events,
      },
      {
        ...defaultExecutorOptions,
        ...(options.concurrency !== undefined && { concurrency: options.concurrency }),
        ...(options.perHost !== undefined && { perHost: options.perHost }),
        nodeId,
      },
    );
    this.scheduler = new Scheduler(
      { locks, tasks, membership, clock, events, submit },
      { ...defaultSchedulerOptions, nodeId, bucketsNum },
    );
    const trigger = new Trigger({
      buckets,
      index: this.index,
      tasks,
      membership,
      clock,
      held: () => this.scheduler.held(),
      submit,
    });
    this.jobs = new JobService({ jobs, tasks, buckets, clock, place }, bucketsNum);
    const migrator = new Migrator(
      {
        timers,
        tasks,
        jobs: this.jobs,
        catchUp,
        index: this.index,
        membership,
        clock,
        events,
        firing: () => this.executor.inFlight > 0,
        submit,
      },
      { ...defaultMigratorOptions, bucketsNum },
    );
    const recovery = new Recovery({ tasks, membership, clock, events, place });
    this.commands = new TimerService({ timers, tasks, buckets, migrator, clock, place });
    new AutoPause({
      timers,
      definitions,
      pause: (timerId, reason) => this.commands.pauseByPlatform(timerId, reason),
      events,
    });

    this.loops = {
      heartbeat: new Loop('heartbeat', () => this.signOfLife(), events),
      schedule: new Loop('scheduler', () => this.scheduler.pass(), events),
      trigger: new Loop('trigger', () => trigger.pass(), events),
      migrate: new Loop('migrator', (signal) => migrator.pass(signal), events),
      recover: new Loop('recovery', () => recovery.pass(), events),
    };
    // A slice that becomes ours mid-minute is read at once, not with the next beat.
    events.on('slice.claimed', () => this.loops.trigger.wake());
  }

  /** A node that fires nothing still has to say when it could not add to the index. */
  private async signOfLife(): Promise<void> {
    await this.membership.pass();
    if (!this.worker) await this.index.check();
  }

  /** The loops this node's roles need. */
  activeLoops(): (keyof typeof cadence)[] {
    return this.worker ? ['heartbeat', 'schedule', 'trigger', 'migrate', 'recover'] : ['heartbeat'];
  }

  /** Joins the cluster and makes the first pass of every stage. Rejects when the node can't be registered. */
  async start(): Promise<void> {
    await this.membership.pass();
    for (const name of this.activeLoops()) await this.loops[name].run();
  }

  /**
   * A clean stop: no more work is taken, the locks go to others at once, calls in flight are awaited for at most
   * `graceMs`, results are written, the registry forgets us.
   */
  async stop(graceMs: number): Promise<void> {
    const { heartbeat, ...stages } = this.loops;
    await Promise.all(Object.values(stages).map((loop) => loop.stop()));
    const quietly = async (step: Promise<unknown>) => {
      // A store that is away must not keep us from the other steps: our leases lapse all the same.
      await step.catch((error) => this.events.emit('stage.failed', { stage: 'stop', error }));
    };
    if (this.worker) {
      await quietly(this.membership.drain());
      await quietly(this.scheduler.release());
      await this.executor.stop(graceMs);
    }
    await heartbeat.stop();
    await quietly(this.membership.leave());
  }
}
