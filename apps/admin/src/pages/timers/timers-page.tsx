import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { TimerView } from '@xtimer/contracts';
import { TimerStatus } from '@xtimer/pipeline/status';
import { Button, Segmented } from 'antd';
import { Link, useNavigate } from 'react-router';
import { useText } from '../../i18n/text.js';
import { type Column, DataTable } from '../../parts/data-table.js';
import { IconButton } from '../../parts/icon-button.js';
import { Again, Bolt, Clone, Left, List, Pause, Pencil, Play, Plus, Right, Trash } from '../../parts/icons.js';
import { Page, useTitle } from '../../parts/page.js';
import { Failure, Loading, Nothing } from '../../parts/states.js';
import { TextFilter } from '../../parts/text-filter.js';
import { every } from '../../query.js';
import { session } from '../../session.js';
import { useTimerActions } from '../../timer-actions.js';
import { useUrlState } from '../../url.js';
import { NextFire, TimerStatusTag } from './next-fire.js';

const PAGE_SIZE = 25;

export default function TimersPage() {
  const text = useText();
  const words = text.timers;
  useTitle(words.title);
  const navigate = useNavigate();
  const url = useUrlState();
  const actions = useTimerActions();

  const app = url.get('app') ?? '';
  const name = url.get('name') ?? '';
  const status = url.number('status');
  const page = url.number('page') || 1;
  const filtered = app !== '' || name !== '' || status !== null;
  const filter = {
    ...(app && { app }),
    ...(name && { name }),
    ...((status === TimerStatus.active || status === TimerStatus.inactive) && { status }),
  };
  const query = useQuery({
    queryKey: ['timers', filter, page],
    queryFn: ({ signal }) => session.client.timers.list({ ...filter, page, pageSize: PAGE_SIZE }, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: every(15_000),
  });

  const columns: Column<TimerView>[] = [
    {
      key: 'name',
      title: text.name,
      className: 'main-cell',
      render: (timer) => (
        <>
          <Link to={`/timers/${timer.timerId}`} className="strong">
            {timer.name}
          </Link>
          <span className="soft small">
            {timer.app} · #{timer.timerId}
          </span>
        </>
      ),
    },
    { key: 'status', title: text.status, render: (timer) => <TimerStatusTag timer={timer} /> },
    {
      key: 'schedule',
      title: words.schedule,
      render: (timer) => (
        <>
          <code>{timer.cron}</code>
          <span className="soft small">{timer.timezone}</span>
        </>
      ),
    },
    { key: 'next', title: words.nextFire, render: (timer) => <NextFire timer={timer} /> },
    {
      key: 'target',
      title: words.target,
      className: 'url-cell',
      render: ({ notifyHTTPParam: { method, url } }) => (
        <span title={url}>
          <span className="method">{method}</span> {url}
        </span>
      ),
    },
    {
      key: 'actions',
      title: text.actions,
      right: true,
      render: (timer) => (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset would be drawn as one
        <span className="row-actions" role="group" aria-label={words.actionsOf(timer.name)}>
          <IconButton label={words.edit} icon={<Pencil />} onClick={() => navigate(`/timers/${timer.timerId}/edit`)} />
          <IconButton
            label={timer.status === TimerStatus.active ? words.pause : words.enable}
            icon={timer.status === TimerStatus.active ? <Pause /> : <Play />}
            disabled={actions.busy(timer.timerId)}
            onClick={() => actions.toggle(timer)}
          />
          <IconButton
            label={words.run}
            icon={<Bolt />}
            disabled={actions.busy(timer.timerId)}
            onClick={() => actions.run(timer)}
          />
          <IconButton
            label={words.clone}
            icon={<Clone />}
            onClick={() => navigate(`/timers/new?from=${timer.timerId}`)}
          />
          <IconButton
            label={words.history}
            icon={<List />}
            onClick={() => navigate(`/history?timerId=${timer.timerId}`)}
          />
          <IconButton label={words.remove} icon={<Trash />} danger onClick={() => actions.remove(timer)} />
        </span>
      ),
    },
  ];

  const { data } = query;
  const pages = data ? Math.max(1, Math.ceil(data.total / PAGE_SIZE)) : 1;
  return (
    <Page
      title={words.title}
      actions={
        <>
          <IconButton label={text.refresh} icon={<Again />} onClick={() => void query.refetch()} />
          <Button type="primary" icon={<Plus />} onClick={() => navigate('/timers/new')}>
            {words.create}
          </Button>
        </>
      }
    >
      <search className="filters">
        <TextFilter
          label={text.name}
          value={name}
          placeholder={words.searchName}
          grow
          onChange={(value) => url.change({ name: value })}
        />
        <TextFilter
          label={text.app}
          value={app}
          placeholder={words.searchApp}
          onChange={(value) => url.change({ app: value })}
        />
        <div className="filter">
          <span id="status-filter">{text.status}</span>
          <Segmented
            aria-labelledby="status-filter"
            value={status ?? 0}
            onChange={(value) => url.change({ status: value || null })}
            options={[
              { value: 0, label: text.all },
              { value: TimerStatus.active, label: words.active },
              { value: TimerStatus.inactive, label: words.paused },
            ]}
          />
        </div>
      </search>
      <section className="panel">
        {query.isError && <Failure error={query.error} onRetry={() => void query.refetch()} />}
        {query.isPending && <Loading />}
        {data &&
          (data.list.length > 0 ? (
            <DataTable
              label={words.title}
              columns={columns}
              rows={data.list}
              keyOf={({ timerId }) => timerId}
              stale={query.isPlaceholderData}
              onRowClick={({ timerId }) => void navigate(`/timers/${timerId}`)}
            />
          ) : filtered || page > 1 ? (
            <Nothing
              action={
                <Button onClick={() => url.change({ app: null, name: null, status: null })}>
                  {words.clearFilters}
                </Button>
              }
            >
              {words.noMatch}
            </Nothing>
          ) : (
            <Nothing
              title={words.emptyTitle}
              action={
                <Button type="primary" onClick={() => navigate('/timers/new')}>
                  {words.create}
                </Button>
              }
            >
              {words.empty}
            </Nothing>
          ))}
        {data && data.list.length > 0 && (
          <footer className="pager">
            <span className="soft num">{words.total(data.total)}</span>
            <span className="pager-steps">
              <IconButton
                label={words.prevPage}
                icon={<Left />}
                disabled={page <= 1}
                onClick={() => url.change({ page: page > 2 ? page - 1 : null })}
              />
              <span className="num">{words.page(page, pages)}</span>
              <IconButton
                label={words.nextPage}
                icon={<Right />}
                disabled={page >= pages}
                onClick={() => url.change({ page: page + 1 })}
              />
            </span>
          </footer>
        )}
      </section>
    </Page>
  );
}
