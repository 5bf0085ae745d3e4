import { useText } from '../../i18n/text.js';
import { duration } from '../../time.js';
import { type RetryRule, retrySchedule } from './retry-schedule.js';

/** More rungs than this say nothing new; the last one is always shown. */
const SHOWN = 7;

/** The attempts of a run that fails each time, drawn. */
export function RetryLadder({ retry }: { retry: RetryRule }) {
  const text = useText();
  const words = text.form;
  const attempts = retrySchedule(retry);
  const last = attempts.at(-1)!;
  const shown = attempts.length > SHOWN ? [...attempts.slice(0, SHOWN - 1), last] : attempts;
  const span = (ms: number) => duration(ms, text.units);
  return (
    <figure className="ladder">
      <figcaption>{words.schedule}</figcaption>
      <ol>
        {shown.map(({ attempt, waitMs, afterMs }) => (
          <li key={attempt} value={attempt}>
            {attempts.length > SHOWN && attempt === last.attempt && (
              <span className="soft small ladder-gap">⋮ {words.more(attempts.length - SHOWN)}</span>
            )}
            <span className="ladder-rung">
              <span className="num ladder-no">{attempt}</span>
              <span className="ladder-track">
                {/* Square roots: the short waits stay visible beside the long ones. */}
                <span style={{ width: `${last.afterMs > 0 ? Math.sqrt(afterMs / last.afterMs) * 100 : 0}%` }} />
              </span>
              <span className="num ladder-when">
                {attempt === 1 ? words.atOnce : words.afterWait(span(waitMs), span(afterMs))}
              </span>
            </span>
          </li>
        ))}
      </ol>
      <p className="soft small">{attempts.length === 1 ? words.noRetries : words.givesUp(span(last.afterMs))}</p>
    </figure>
  );
}
