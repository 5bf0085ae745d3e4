import type { CallbackAnswer, Callbacks, CallbackTask } from '../executor/ports.js';
import { type Clock, sleepWith } from '../lifecycle/clock.js';
import { settle, VirtualClock } from '../lifecycle/virtual-clock.js';
import { cadence, Pipeline } from '../pipeline.js';
import type { NewTimer } from '../timer/commands.js';
import { taskIdOf } from '../timer/task.js';
import { type Definition, defaultPolicies } from '../timer/timer.js';
import { FakeBuckets } from './memory-buckets.js';
import { MemoryStores } from './memory-stores.js';
import { seededRandom } from './random.js';

/** One call as the receiver saw it. */
export interface SeenCall extends CallbackTask {
  at: number;
  node: string;
  body: string | null;
}

const BUCKETS = 4;

/** A private world: some nodes, one database, one index, one receiver, one virtual clock. */
export class Cluster {
  readonly clock = new VirtualClock();
  readonly stores = new MemoryStores(BUCKETS);
  readonly buckets = new FakeBuckets(() => this.clock.now());
  readonly calls: SeenCall[] = [];
  readonly nodes = new Map<string, { pipeline: Pipeline; kill: () => void }>();
  /** What the receiver answers; may take its (virtual) time. */
  answer: (call: SeenCall) => CallbackAnswer | Promise<CallbackAnswer> = () => ok;
  private readonly random = seededRandom(1);

  async start(...nodeIds: string[]): Promise<void> {
    for (const nodeId of nodeIds) {
      let dead = false;
      // A killed process does nothing any more, whatever it had scheduled.
      const nodeClock: Clock = {
        now: () => this.clock.now(),
        schedule: (at, run) => this.clock.schedule(at, () => dead || run()),
        sleepUntil: (at, signal) => sleepWith(nodeClock, at, signal),
      };
      const callbacks: Callbacks = {
        call: async (task: CallbackTask, definition: Definition) => {
          if (dead) return new Promise(() => {});
          const { timerId, runTimer, attempt, payload, jobId } = task;
          const { body } = definition.notifyHttpParam;
          const call = { timerId, runTimer, attempt, payload, jobId, body, at: this.clock.now(), node: nodeId };
          this.calls.push(call);
          const answer = await this.answer(call);
          return dead ? new Promise(() => {}) : answer;
        },
      };
      const pipeline = new Pipeline(
        {
          timers: this.stores,
          tasks: this.stores,
          jobs: this.stores.jobs,
          buckets: this.buckets,
          locks: this.buckets,
          callbacks,
          clock: nodeClock,
          random: this.random,
        },
        {
          node: {
            nodeId,
            host: nodeId,
            version: 'test',
            roles: ['api', 'worker'],
            bucketsNum: BUCKETS,
            startedAt: this.clock.now(),
          },
        },
      );
      const kill = () => {
        dead = true;
      };
      this.nodes.set(nodeId, { pipeline, kill });
      await pipeline.start();
      for (const name of pipeline.activeLoops()) {
        const beat = () => {
          if (dead) return;
          void pipeline.loops[name].run();
          this.clock.schedule(this.clock.now() + cadence[name], beat);
        };
        this.clock.schedule(this.clock.now() + cadence[name], beat);
      }
    }
    await settle();
  }

  get jobs() {
    return this.nodes.values().next().value!.pipeline.jobs;
  }

  get commands() {
    return this.nodes.values().next().value!.pipeline.commands;
  }

  /** Creates and enables a timer. */
  async timer(cron: string, changes: Partial<NewTimer> = {}) {
    return this.commands.create(
      {
        app: 'shop',
        name: cron,
        description: '',
        cron,
        cronDialect: 'auto',
        timezone: 'UTC',
        startAt: null,
        endAt: null,
        maxRuns: null,
        notifyHttpParam: { method: 'POST', url: 'http://target.example/run', header: {}, body: null },
        policies: defaultPolicies,
        enable: true,
        ...changes,
      },
      'test',
    );
  }

  /** Planned instants the receiver was called for, ms after `from`, in order of arrival. */
  slotsSince(from: number, timerId?: number): number[] {
    return this.calls
      .filter((call) => call.runTimer >= from && (timerId === undefined || call.timerId === timerId))
      .map((call) => call.runTimer - from);
  }

  /** Tasks called more than once. */
  doubled(): string[] {
    const ids = this.calls.map(taskIdOf);
    return ids.filter((id, i) => ids.indexOf(id) !== i);
  }
}

export const ok: CallbackAnswer = { httpStatus: 200, output: 'ok', error: null, headers: {} };
