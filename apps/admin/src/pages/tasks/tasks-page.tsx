import { TaskStatus } from '@xtimer/pipeline/status';
import { Select, Switch } from 'antd';
import { type Text, useText } from '../../i18n/text.js';
import { Filter, Page, useTitle } from '../../parts/page.js';
import { TextFilter } from '../../parts/text-filter.js';
import { fromLocalInput, viewerZone } from '../../time.js';
import { useUrlState } from '../../url.js';
import { TaskList } from './task-list.js';

const FILTERS = ['app', 'timerId', 'status', 'from', 'to'];
const statuses = Object.entries(TaskStatus) as [keyof typeof TaskStatus, TaskStatus][];

/** History: every execution, whatever made it. */
export default function TasksPage() {
  const text = useText();
  const words = text.tasks;
  useTitle(words.title);
  const url = useUrlState();
  const app = url.get('app') ?? '';
  const timerId = url.number('timerId');
  const given = url.number('status');
  const status = statuses.find(([, value]) => value === given)?.[1];
  const [from, to] = [url.get('from') ?? '', url.get('to') ?? ''];
  const [startTime, endTime] = [fromLocalInput(from), fromLocalInput(to)];
  const planned = url.get('planned') === '1';
  const clear = () => url.change(Object.fromEntries(FILTERS.map((key) => [key, null])));

  return (
    <Page title={words.title}>
      <search className="filters">
        <TextFilter
          label={text.app}
          value={app}
          placeholder={text.timers.searchApp}
          onChange={(value) => url.change({ app: value })}
        />
        <TextFilter
          label={words.timerId}
          value={timerId === null ? '' : String(timerId)}
          numeric
          onChange={(value) => url.change({ timerId: value })}
        />
        <Filter label={text.status}>
          <Select
            className="status-select"
            aria-label={text.status}
            value={status ?? -1}
            onChange={(value) => url.change({ status: value === -1 ? null : value })}
            options={[{ value: -1, label: text.all }, ...statusOptions(text)]}
          />
        </Filter>
        <TextFilter
          label={words.from}
          value={from}
          type="datetime-local"
          onChange={(value) => url.change({ from: value })}
        />
        <TextFilter label={words.to} value={to} type="datetime-local" onChange={(value) => url.change({ to: value })} />
        {/* biome-ignore lint/a11y/noLabelWithoutControl: the switch is the control */}
        <label className="switch filter-switch">
          <Switch
            size="small"
            aria-label={words.showPlanned}
            checked={planned || status === TaskStatus.notRun}
            disabled={status === TaskStatus.notRun}
            onChange={(on) => url.change({ planned: on ? '1' : null })}
          />
          {words.showPlanned}
        </label>
        <span className="soft small filter-note">{words.range(viewerZone)}</span>
      </search>
      <TaskList
        filter={{
          ...(app && { app }),
          ...(timerId !== null && timerId > 0 && { timerId }),
          ...(status !== undefined && { status }),
          ...(startTime !== null && { startTime }),
          ...(endTime !== null && { endTime }),
        }}
        planned={planned}
        {...(FILTERS.some((key) => url.get(key) !== null) && { onClearFilters: clear })}
      />
    </Page>
  );
}

const statusOptions = (text: Text) => statuses.map(([name, value]) => ({ value, label: text.taskStatus[name] }));
