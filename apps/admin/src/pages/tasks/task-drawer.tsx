import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { TaskDetail } from '@xtimer/contracts';
import { isFinal, TaskStatus } from '@xtimer/pipeline/status';
import { App, Button, Drawer } from 'antd';
import type { ReactNode } from 'react';
import { useText } from '../../i18n/text.js';
import { CopyButton } from '../../parts/icon-button.js';
import { Again, Ban } from '../../parts/icons.js';
import { ExactMoment } from '../../parts/moment.js';
import { Output } from '../../parts/output.js';
import { Failure, Loading, sayError } from '../../parts/states.js';
import { StatusTag } from '../../parts/status-tag.js';
import { every } from '../../query.js';
import { session } from '../../session.js';
import { duration, viewerZone, wallClock } from '../../time.js';
import { OwnerLink, sayReason } from './task-list.js';

/** Everything about one task; `null`: closed. */
export function TaskDrawer({ taskId, onClose }: { taskId: string | null; onClose(): void }) {
  const text = useText();
  const query = useQuery({
    queryKey: ['tasks', 'one', taskId],
    queryFn: ({ signal }) => session.client.tasks.get({ taskId: taskId! }, { signal }),
    enabled: taskId !== null,
    // Until it has ended it may change any moment.
    refetchInterval: ({ state }) => (state.data && isFinal(state.data.status) ? false : every(2_000)()),
  });
  const task = query.data;
  return (
    <Drawer
      open={taskId !== null}
      onClose={onClose}
      size="min(680px, 100vw)"
      title={text.tasks.drawer}
      closable={{ 'aria-label': text.close }}
      extra={task && <TaskButtons task={task} />}
    >
      {query.isError && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && taskId !== null && <Loading />}
      {task && <TaskFacts task={task} />}
    </Drawer>
  );
}

const RETRYABLE: readonly TaskStatus[] = [TaskStatus.failed, TaskStatus.canceled, TaskStatus.skipped];

function TaskButtons({ task: { taskId, status } }: { task: TaskDetail }) {
  const text = useText();
  const { message } = App.useApp();
  const cache = useQueryClient();
  const then = {
    onError: (error: unknown) => void message.error(sayError(error, text), 6),
    onSettled: () => cache.invalidateQueries({ queryKey: ['tasks'] }),
  };
  const cancel = useMutation({
    mutationFn: () => session.client.tasks.cancel({ taskId }),
    onSuccess: ({ results: [result] }) => {
      if (!result) return;
      const done = result.outcome === 'canceled';
      void message[done ? 'success' : 'warning'](text.tasks.cancelOutcome[result.outcome]);
    },
    ...then,
  });
  const retry = useMutation({
    mutationFn: () => session.client.tasks.retry({ taskId }),
    onSuccess: ({ results: [result] }) => {
      if (!result) return;
      const done = result.outcome === 'accepted';
      void message[done ? 'success' : 'warning'](text.tasks.retryOutcome[result.outcome]);
    },
    ...then,
  });
  return (
    <>
      {RETRYABLE.includes(status) && (
        <Button icon={<Again />} loading={retry.isPending} onClick={() => retry.mutate()}>
          {text.tasks.retry}
        </Button>
      )}
      {status === TaskStatus.notRun && (
        <Button icon={<Ban />} loading={cancel.isPending} onClick={() => cancel.mutate()}>
          {text.tasks.cancel}
        </Button>
      )}
    </>
  );
}

function TaskFacts({ task }: { task: TaskDetail }) {
  const text = useText();
  const words = text.tasks;
  // The zone is the timer's as it is now; a deleted one has none to tell.
  const timer = useQuery({
    queryKey: ['timer', task.timerId],
    queryFn: ({ signal }) => session.client.timers.get({ timerId: task.timerId! }, { signal }),
    enabled: task.timerId !== undefined,
    staleTime: 60_000,
  }).data;
  const zone = timer?.timezone;
  const ms = (value: number | null) => (value === null ? '–' : duration(value, text.units));
  const moment = (at: number | null) => (at === null ? null : <ExactMoment at={at} zone={zone} />);
  const facts: [string, ReactNode][] = [
    [
      task.topic === undefined ? words.timer : words.topic,
      <>
        <OwnerLink task={task} /> <span className="soft">{task.app}</span>
      </>,
    ],
    [words.jobId, task.jobId !== undefined && <code className="break">{task.jobId}</code>],
    [
      words.taskId,
      <>
        <code>{task.taskId}</code> <CopyButton value={task.taskId} what={words.taskId} />
      </>,
    ],
    [words.planned, moment(task.runTimer)],
    [words.due, task.status === TaskStatus.notRun && task.dueAt !== task.runTimer && moment(task.dueAt)],
    [words.started, moment(task.startedAt)],
    [words.finished, moment(task.finishedAt)],
    [words.lateness, ms(task.lateness)],
    [words.cost, ms(task.costTime)],
    [words.http, task.httpStatus],
    [
      words.attemptsMade,
      <>
        {task.attempt}
        {task.replayCount > 0 && <span className="soft"> · {words.replays(task.replayCount)}</span>}
      </>,
    ],
    [words.origin, text.origins[task.origin]],
    [words.reason, task.reason && sayReason(task.reason, text)],
    [
      text.taskStatus.skipped,
      task.skippedCount !== null && task.skippedUntil !== null
        ? words.skippedCount(task.skippedCount, wallClock(task.skippedUntil, viewerZone))
        : null,
    ],
    [
      words.callback,
      timer && (
        <>
          <span className="method">{timer.notifyHTTPParam.method}</span>{' '}
          <span className="break">{timer.notifyHTTPParam.url}</span>{' '}
          <span className="soft small">{words.callbackHint}</span>
        </>
      ),
    ],
  ];
  return (
    <div className="task">
      <StatusTag type="task" status={task.status} attempt={task.attempt} />
      {task.error && (
        <p className="error-text" role="note">
          {task.error}
        </p>
      )}
      <Facts facts={facts} />
      <h2>{words.output}</h2>
      {task.output === null ? (
        <p className="soft">{task.finishedAt === null ? words.noAnswer : words.noOutput}</p>
      ) : (
        <Output text={task.output} />
      )}
      {task.payload !== null && (
        <>
          <h2>{words.payload}</h2>
          <Output text={task.payload} />
        </>
      )}
      <h2>{words.attempts}</h2>
      {task.attempts.length === 0 && <p className="soft">{words.noAttempts}</p>}
      {task.attempts.map((attempt) => (
        <details key={`${attempt.attempt} ${attempt.startedAt}`} className="attempt">
          <summary>
            <span className="strong">{words.attemptNo(attempt.attempt)}</span>
            <span className="num soft">{wallClock(attempt.startedAt, viewerZone)}</span>
            <span className="num">{duration(attempt.costTime, text.units)}</span>
            {attempt.httpStatus !== null && <span className="num">HTTP {attempt.httpStatus}</span>}
            {attempt.error && <span className="bad-text attempt-error">{attempt.error}</span>}
          </summary>
          {attempt.error && <p className="bad-text break">{attempt.error}</p>}
          {attempt.output === null ? <p className="soft">{words.noOutput}</p> : <Output text={attempt.output} />}
        </details>
      ))}
    </div>
  );
}

export function Facts({ facts }: { facts: readonly [string, ReactNode][] }) {
  return (
    <dl className="facts">
      {facts.map(
        ([name, value]) =>
          value !== null &&
          value !== undefined &&
          value !== false &&
          value !== '' && (
            <div key={name}>
              <dt>{name}</dt>
              <dd className="num">{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
