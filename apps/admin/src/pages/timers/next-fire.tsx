import type { TimerView } from '@xtimer/contracts';
import { TimerStatus } from '@xtimer/pipeline/status';
import { useText } from '../../i18n/text.js';
import { useNextFires } from '../../next-fires.js';
import { Relative, WallClock } from '../../parts/moment.js';
import { StatusTag } from '../../parts/status-tag.js';

export function NextFire({ timer }: { timer: TimerView }) {
  const text = useText();
  const next = useNextFires(timer);
  if (timer.status !== TimerStatus.active) return <span className="soft">{text.none}</span>;
  if (next === undefined) return <span className="soft">…</span>;
  const [soonest] = next;
  if (soonest === undefined) return <span className="soft">{text.timer.noneLeft}</span>;
  return (
    <>
      <Relative at={soonest} zone={timer.timezone} />
      <span className="soft small">
        <WallClock at={soonest} zone={timer.timezone} />
      </span>
    </>
  );
}

/** Tells a timer that goes on from one that is only switched on. */
export function TimerStatusTag({ timer }: { timer: TimerView }) {
  const next = useNextFires(timer);
  const { status, statusReason } = timer;
  const tag = <StatusTag type="timer" {...{ status, statusReason }} hasNext={next === undefined || next.length > 0} />;
  return statusReason ? <span title={statusReason}>{tag}</span> : tag;
}
