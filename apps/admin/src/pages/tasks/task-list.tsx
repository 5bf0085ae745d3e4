import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { TaskView } from '@xtimer/contracts';
import { TaskStatus } from '@xtimer/pipeline/status';
import { Button, Switch } from 'antd';
import { Link } from 'react-router';
import { type Text, useText } from '../../i18n/text.js';
import { type Column, DataTable } from '../../parts/data-table.js';
import { IconButton } from '../../parts/icon-button.js';
import { Again, Right } from '../../parts/icons.js';
import { WallClock } from '../../parts/moment.js';
import { Failure, Loading, Nothing } from '../../parts/states.js';
import { StatusTag } from '../../parts/status-tag.js';
import { every } from '../../query.js';
import { session } from '../../session.js';
import { duration, viewerZone, wallClock } from '../../time.js';
import { useUrlState } from '../../url.js';
import { TaskDrawer } from './task-drawer.js';

const PAGE_SIZE = 50;
const LIVE_MS = 2_000;
/** What a row shows of an output. */
const EXCERPT = 160;

export interface TaskFilter {
  app?: string;
  timerId?: number;
  status?: TaskStatus;
  startTime?: number;
  endTime?: number;
}

interface TaskListProps {
  filter: TaskFilter;
  /** Tasks to come, too. They would stand above all others: newest first. */
  planned: boolean;
  /** `undefined`: the timer is told in each row. */
  zone?: string | undefined;
  ofOneTimer?: boolean;
  onClearFilters?: () => void;
}

/** History, newest first. Cursor, live mode and the open row live in the address. */
export function TaskList({ filter, planned, zone, ofOneTimer, onClearFilters }: TaskListProps) {
  const text = useText();
  const words = text.tasks;
  const url = useUrlState();
  const cursor = url.get('cursor');
  const live = url.get('live') === '1';
  const opened = url.get('task');
  const ahead = planned || filter.status === TaskStatus.notRun;

  const query = useQuery({
    queryKey: ['tasks', filter, ahead, cursor],
    queryFn: ({ signal }) => {
      const endTime = filter.endTime ?? (ahead ? undefined : Date.now() + 1);
      return session.client.tasks.list(
        { ...filter, ...(endTime !== undefined && { endTime }), ...(cursor && { cursor }), pageSize: PAGE_SIZE },
        { signal },
      );
    },
    placeholderData: keepPreviousData,
    refetchInterval: live && !cursor ? every(LIVE_MS) : false,
  });

  const nothing = <span className="soft">–</span>;
  const ms = (value: number | null) => (value === null ? nothing : <span>{duration(value, text.units)}</span>);
  const open = ({ taskId }: TaskView) => url.change({ task: taskId });
  const columns: Column<TaskView>[] = [
    {
      key: 'planned',
      title: words.planned,
      render: (task) => (
        <button
          type="button"
          className="link num"
          aria-label={words.open(wallClock(task.runTimer, viewerZone))}
          onClick={() => open(task)}
        >
          <WallClock at={task.runTimer} zone={zone} />
        </button>
      ),
    },
    ...(ofOneTimer
      ? []
      : [
          {
            key: 'timer',
            title: words.timer,
            className: 'main-cell',
            render: (task: TaskView) => (
              <>
                <OwnerLink task={task} />
                <span className="soft small">
                  {task.jobId === undefined ? task.app : `${task.app} · ${task.jobId}`}
                </span>
              </>
            ),
          },
        ]),
    {
      key: 'status',
      title: text.status,
      render: ({ status, attempt, reason, skippedCount }) => (
        <>
          <StatusTag type="task" status={status} attempt={attempt} />
          {reason && <span className="soft small">{sayReason(reason, text)}</span>}
          {skippedCount !== null && skippedCount > 1 && <span className="soft small num">× {skippedCount}</span>}
        </>
      ),
    },
    { key: 'lateness', title: words.lateness, right: true, render: ({ lateness }) => ms(lateness) },
    { key: 'cost', title: words.cost, right: true, render: ({ costTime }) => ms(costTime) },
    { key: 'http', title: words.http, right: true, render: ({ httpStatus }) => httpStatus ?? nothing },
    {
      key: 'attempt',
      title: words.attempt,
      right: true,
      render: ({ attempt }) => (attempt > 1 ? <span className="strong">{attempt}</span> : attempt || nothing),
    },
    {
      key: 'output',
      title: words.output,
      className: 'output-cell',
      render: ({ error, output }) =>
        error ? (
          <span className="bad-text">{error.slice(0, EXCERPT)}</span>
        ) : output ? (
          <code>{output.slice(0, EXCERPT)}</code>
        ) : (
          nothing
        ),
    },
  ];

  const { data } = query;
  return (
    <section className="panel">
      <div className="panel-tools">
        {data?.total !== null && data?.total !== undefined && (
          <span className="soft num">{words.total(data.total)}</span>
        )}
        <span className="spacer" />
        {/* biome-ignore lint/a11y/noLabelWithoutControl: the switch is the control */}
        <label className="switch" title={words.liveHint}>
          <Switch
            size="small"
            aria-label={words.live}
            checked={live}
            onChange={(on) => url.change({ live: on ? '1' : null, cursor: null })}
          />
          {words.live}
        </label>
        <IconButton label={text.refresh} icon={<Again />} onClick={() => void query.refetch()} />
      </div>
      {query.isError && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {data && data.list.length > 0 && (
        <DataTable
          label={words.title}
          columns={columns}
          rows={data.list}
          keyOf={({ taskId }) => taskId}
          rowClass={({ status, taskId }) =>
            [status === TaskStatus.failed && 'failed-row', taskId === opened && 'open-row'].filter(Boolean).join(' ')
          }
          onRowClick={open}
          stale={query.isPlaceholderData}
        />
      )}
      {data?.list.length === 0 &&
        (cursor !== null || onClearFilters ? (
          <Nothing action={onClearFilters && <Button onClick={onClearFilters}>{text.timers.clearFilters}</Button>}>
            {words.noMatch}
          </Nothing>
        ) : (
          <Nothing title={words.emptyTitle}>{words.empty}</Nothing>
        ))}
      {data && data.list.length > 0 && (
        <footer className="pager">
          {cursor !== null && <Button onClick={() => url.change({ cursor: null })}>{words.newest}</Button>}
          <span className="spacer" />
          {data.nextCursor === null ? (
            <span className="soft">{words.end}</span>
          ) : (
            <Button
              icon={<Right />}
              iconPlacement="end"
              onClick={() => url.change({ cursor: data.nextCursor, live: null })}
            >
              {words.older}
            </Button>
          )}
        </footer>
      )}
      <TaskDrawer taskId={opened} onClose={() => url.change({ task: null })} />
    </section>
  );
}

/** A task is a timer's, or a job of a topic. */
export function OwnerLink({ task: { timerId, topic, name } }: { task: TaskView }) {
  if (timerId === undefined) return <span className="strong">{topic ?? name}</span>;
  return <Link to={`/timers/${timerId}`}>{name || `#${timerId}`}</Link>;
}

export const sayReason = (reason: string, { reasons }: Text): string =>
  Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : reason;
