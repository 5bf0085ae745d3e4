import type { Events } from '@xtimer/pipeline';
import type { Logger } from 'pino';

/** Turns what the stages tell into log lines. Single tasks are debug: at thousands a second they are not news. */
export function logEvents(events: Events, log: Logger): void {
  events.on('migrator.planned', (event) => log.debug(event, 'expanded timers'));
  events.on('migrator.timerSetAside', ({ timerId, error }) =>
    log.error({ timerId, error }, 'timer could not be expanded'),
  );
  events.on('slice.lost', ({ bucket, minute }) => log.warn({ bucket, minute }, 'lost the lock of a slice'));
  events.on('index.filled', (event) => log.info(event, 'filled the sorted sets from the database'));
  events.on('index.down', ({ down }) =>
    down
      ? log.error('the sorted sets do not answer: firing from the database')
      : log.warn('the sorted sets answer again'),
  );
  events.on('task.finished', ({ result }) =>
    log.debug(
      {
        taskId: `${result.timerId}_${result.runTimer}`,
        status: result.status,
        httpStatus: result.httpStatus,
        costTime: result.costTime,
        lateness: result.lateness,
        error: result.error,
      },
      'task finished',
    ),
  );
  events.on('task.skipped', ({ timerId, runTimer, reason }) =>
    log.info({ taskId: `${timerId}_${runTimer}`, reason }, 'task skipped'),
  );
  events.on('timer.caughtUp', (event) => log.warn(event, 'timer had missed slots: settled by its misfire rule'));
  events.on('timer.paused', (event) => log.warn(event, 'timer paused by its own rule'));
  events.on('task.outcomeLost', (event) => log.warn(event, 'result came after the task was taken over: dropped'));
  events.on('task.leaseLost', (event) => log.warn(event, "call not made: this node's lease had lapsed"));
  events.on('results.delayed', ({ waiting, error }) =>
    log.error({ waiting, error: error.message }, 'results wait for the database'),
  );
  events.on('node.recovered', (event) => log.warn(event, 'took back tasks of a dead node'));
  events.on('node.joined', (event) => log.info(event, 'node joined'));
  events.on('node.left', (event) => log.info(event, 'node left'));
  events.on('history.purged', (event) => log.info(event, 'deleted tasks past their retention'));
  events.on('clock.off', (event) => log.warn(event, 'the clock of this host is wrong; the time of the stores is used'));
  events.on('stage.failed', ({ stage, error }) =>
    log.error({ stage, error: error.message }, 'stage failed, tried again'),
  );
}
