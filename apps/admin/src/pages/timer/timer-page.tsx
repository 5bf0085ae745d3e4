import { useQuery } from '@tanstack/react-query';
import type { TimerView } from '@xtimer/contracts';
import { TimerStatus } from '@xtimer/pipeline/status';
import { Button } from 'antd';
import { useNavigate, useParams } from 'react-router';
import { useText } from '../../i18n/text.js';
import { useCronPreview, useNextFires } from '../../next-fires.js';
import { Fires } from '../../parts/fires.js';
import { CopyButton, IconButton } from '../../parts/icon-button.js';
import { Bolt, Clone, Pause, Pencil, Play, Trash } from '../../parts/icons.js';
import { ExactMoment } from '../../parts/moment.js';
import { Output } from '../../parts/output.js';
import { Page, useTitle } from '../../parts/page.js';
import { Failure, Loading, Note } from '../../parts/states.js';
import { session } from '../../session.js';
import { duration, viewerZone, wallClock } from '../../time.js';
import { useTimerActions } from '../../timer-actions.js';
import { Facts } from '../tasks/task-drawer.js';
import { TaskList } from '../tasks/task-list.js';
import { TimerStatusTag } from '../timers/next-fire.js';

export default function TimerPage() {
  const text = useText();
  const { timerId: given } = useParams();
  const timerId = Number(given);
  const query = useQuery({
    queryKey: ['timer', timerId],
    queryFn: ({ signal }) => session.client.timers.get({ timerId: given! }, { signal }),
  });
  useTitle(query.data?.name ?? text.timers.title);
  if (query.data) return <Timer timer={query.data} />;
  return (
    <Page title={`#${given}`}>
      {query.isPending ? <Loading /> : <Failure error={query.error} onRetry={() => void query.refetch()} />}
    </Page>
  );
}

function Timer({ timer }: { timer: TimerView }) {
  const text = useText();
  const words = text.timers;
  const navigate = useNavigate();
  const actions = useTimerActions({ onRemoved: () => void navigate('/timers') });
  const active = timer.status === TimerStatus.active;
  const busy = actions.busy(timer.timerId);
  return (
    <Page
      title={
        <>
          {timer.name} <TimerStatusTag timer={timer} />
        </>
      }
      actions={
        <>
          <IconButton
            label={words.clone}
            icon={<Clone />}
            onClick={() => navigate(`/timers/new?from=${timer.timerId}`)}
          />
          <IconButton
            label={words.remove}
            icon={<Trash />}
            danger
            disabled={busy}
            onClick={() => actions.remove(timer)}
          />
          <Button icon={<Bolt />} disabled={busy} onClick={() => actions.run(timer)}>
            {words.run}
          </Button>
          <Button icon={active ? <Pause /> : <Play />} disabled={busy} onClick={() => actions.toggle(timer)}>
            {active ? words.pause : words.enable}
          </Button>
          <Button type="primary" icon={<Pencil />} onClick={() => navigate(`/timers/${timer.timerId}/edit`)}>
            {words.edit}
          </Button>
        </>
      }
    >
      {timer.statusReason && <Note>{text.timer.stoppedBecause(timer.statusReason)}</Note>}
      <div className="two-columns">
        <section className="panel padded">
          <h2>{text.timer.definition}</h2>
          <Definition timer={timer} />
        </section>
        <section className="panel padded">
          <h2>{text.timer.nextFires}</h2>
          <NextFires timer={timer} />
        </section>
      </div>
      <h2>{text.timer.history}</h2>
      <TaskList filter={{ timerId: timer.timerId }} planned={false} zone={timer.timezone} ofOneTimer />
    </Page>
  );
}

function NextFires({ timer }: { timer: TimerView }) {
  const text = useText();
  const next = useNextFires(timer);
  const { status, cron, cronDialect, timezone, dst, spreadMs } = timer;
  const active = status === TimerStatus.active;
  const would = useCronPreview(active ? null : { cron, cronDialect, timezone, dst, count: 10 }).data?.next;
  const fires = active ? next : would;
  return (
    <>
      {!active && (
        <p className="soft">
          {text.timer.notActive} {text.timer.wouldFire}
        </p>
      )}
      {fires === undefined ? (
        <Loading />
      ) : fires.length === 0 ? (
        <p className="soft">{text.timer.noneLeft}</p>
      ) : (
        <Fires fires={fires.slice(0, 10)} zone={timezone} />
      )}
      {spreadMs > 0 && <p className="soft small">{text.timer.spreadNote(duration(spreadMs, text.units))}</p>}
    </>
  );
}

function Definition({ timer }: { timer: TimerView }) {
  const text = useText();
  const form = text.form;
  const { cron, cronDialect, timezone, dst, notifyHTTPParam, retry, misfire, startAt, endAt, maxRuns } = timer;
  const { description } = useCronPreview({ cron, cronDialect, timezone, dst, count: 10 }).data ?? {};
  const { method, url, header, body } = notifyHTTPParam;
  const span = (ms: number) => duration(ms, text.units);
  const local = (at: number) => wallClock(at, viewerZone);
  const validity = [
    startAt !== null && text.timer.from(local(startAt)),
    endAt !== null && text.timer.until(local(endAt)),
    maxRuns !== null && text.timer.runs(maxRuns),
  ].filter((part) => part !== false);
  return (
    <>
      {timer.description && <p className="break">{timer.description}</p>}
      <Facts
        facts={[
          [text.app, timer.app],
          ['ID', <code key="id">{timer.timerId}</code>],
          [
            text.timers.schedule,
            <>
              <code>{cron}</code> <span className="soft">{timezone}</span>
              {description && <div>{description}</div>}
            </>,
          ],
          [
            text.timers.target,
            <>
              <span className="method">{method}</span> <span className="break">{url}</span>{' '}
              <CopyButton value={url} what={form.url} />
            </>,
          ],
          [
            text.timer.headers,
            Object.keys(header).length > 0 && (
              <ul className="plain-list">
                {Object.entries(header).map(([name, value]) => (
                  <li key={name}>
                    <code className="break">
                      {name}: {value}
                    </code>
                  </li>
                ))}
              </ul>
            ),
          ],
          [text.timer.body, <BodyText key="body" body={body} />],
          [form.timeout, span(timer.timeoutMs)],
          [
            form.retry,
            text.timer.retries(
              ...([retry.maxAttempts, span(retry.initialDelayMs), retry.factor, span(retry.maxDelayMs)] as const),
              `± ${Math.round(retry.jitter * 100)} %`,
            ),
          ],
          [form.success, timer.success.status.join(', ')],
          [form.noRetryStatus, timer.noRetry.status.join(', ')],
          [form.misfire, text.timer.missed(form.misfires[misfire.policy], span(misfire.graceMs))],
          [form.overlap, form.overlaps[timer.overlap]],
          [form.delivery, form.deliveries[timer.delivery]],
          [form.spread, timer.spreadMs > 0 && span(timer.spreadMs)],
          [form.pauseAfter, timer.pauseAfterFailures],
          [text.timer.validity, validity.length > 0 ? validity.join(', ') : text.timer.always],
          [text.timer.created, <ExactMoment key="created" at={timer.createdAt} />],
          [text.timer.updated, timer.updatedAt !== timer.createdAt && <ExactMoment at={timer.updatedAt} />],
        ]}
      />
    </>
  );
}

function BodyText({ body }: { body: string | null }) {
  const text = useText();
  return body === null ? <span className="soft">{text.timer.noBody}</span> : <Output text={body} />;
}
