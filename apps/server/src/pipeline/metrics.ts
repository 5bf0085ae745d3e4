import { type Pipeline, Reason, type SharedClock, TaskStatus } from '@xtimer/pipeline';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const LATENESS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

/** Counts what the stages tell, for Prometheus. One registry for each node of this process; docs/operations.md lists all. */
export class Metrics {
  private readonly registry = new Registry();

  constructor(pipeline: Pipeline, clock: SharedClock) {
    const { events, executor, membership, scheduler } = pipeline;
    const registers = [this.registry];
    const counter = <T extends string>(name: string, help: string, ...labelNames: T[]) =>
      new Counter({ name: `xtimer_${name}`, help, labelNames, registers });
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        ...{ name: `xtimer_${name}`, help, registers },
        collect() {
          this.set(read());
        },
      });
    const histogram = (name: string, help: string, buckets: number[]) =>
      new Histogram({ name: `xtimer_${name}`, help, buckets, registers });

    const finished = counter('tasks_finished_total', 'Tasks that ended, by outcome', 'outcome');
    const attempts = counter('attempts_total', 'Callback attempts, by OK or the error code', 'code');
    const retries = counter('retries_total', 'Attempts that failed and are followed by another');
    const lateness = histogram(
      'lateness_seconds',
      'Send minus due time of the attempt that ended a task',
      LATENESS_BUCKETS,
    );
    const duration = histogram('callback_duration_seconds', 'One attempt, send to last byte', DURATION_BUCKETS);
    for (const outcome of ['succeeded', 'failed']) finished.inc({ outcome }, 0);
    events.on('task.finished', ({ result }) => {
      const { costTime, dueAt, error, startedAt, status } = result;
      attempts.inc({ code: error === null ? 'OK' : error.split(':', 1)[0]! });
      duration.observe(costTime / 1000);
      if (status === TaskStatus.notRun) {
        retries.inc();
        return;
      }
      finished.inc({ outcome: status === TaskStatus.succeeded ? 'succeeded' : 'failed' });
      // Not minus the planned instant: a backfill of last week is no sign of trouble.
      lateness.observe((startedAt - dueAt) / 1000);
    });

    const skipped = counter('tasks_skipped_total', 'Planned instants left out, by the rule that did it', 'reason');
    for (const reason of [Reason.misfire, Reason.overlap]) skipped.inc({ reason }, 0);
    events.on('task.skipped', ({ reason }) => skipped.inc({ reason }));
    events.on('timer.caughtUp', (event) => skipped.inc({ reason: Reason.misfire }, event.skipped));

    const asked = counter('tasks_asked_total', 'Tasks this node asked the database for');
    const claimed = counter('tasks_claimed_total', 'Tasks it was given to call');
    events.on('task.claimed', (event) => {
      asked.inc(event.asked);
      claimed.inc(event.claimed);
    });

    const recovered = counter('tasks_recovered_total', 'Tasks taken back from dead nodes');
    events.on('node.recovered', ({ tasks }) => recovered.inc(tasks));
    const outcomesLost = counter('outcomes_lost_total', 'Results that came after their task was taken over');
    events.on('task.outcomeLost', () => outcomesLost.inc());
    const paused = counter('timers_paused_total', 'Timers paused after failures in a row');
    events.on('timer.paused', () => paused.inc());
    const purged = counter('history_purged_total', 'Tasks deleted past their retention');
    events.on('history.purged', ({ tasks }) => purged.inc(tasks));
    const failures = counter('stage_failures_total', 'Passes that failed and are tried again', 'stage');
    events.on('stage.failed', ({ stage }) => failures.inc({ stage }));

    gauge('callbacks_in_flight', 'Callbacks on their way', () => executor.inFlight);
    gauge('results_waiting', 'Results of ended callbacks not yet written', () => executor.resultsWaiting);
    gauge('slices_held', 'Minutes of buckets this node holds the lock of', () => scheduler.held().length);
    gauge('nodes_alive', 'Nodes of the cluster as this one sees it', () => membership.nodes().length);
    gauge('index_down', '1 while the sorted sets do not answer', () => Number(pipeline.index.isDown()));
    gauge('clock_error_seconds', "This host's clock minus the stores'", () => clock.hostError() / 1000);
    // Event-loop delay, memory, CPU, handles: xtimer_nodejs_… and xtimer_process_….
    collectDefaultMetrics({ register: this.registry, prefix: 'xtimer_' });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** In the text format of Prometheus. */
  text(): Promise<string> {
    return this.registry.metrics();
  }
}
