import { useRouteError } from 'react-router';
import { useText } from '../i18n/text.js';

/** Instead of a blank screen. Plain elements only: whatever broke may be in the others. */
export function Crash() {
  const error = useRouteError();
  const text = useText();
  return (
    <div className="nothing" role="alert">
      <h2>{text.crashed}</h2>
      <p>{text.crashedHint}</p>
      <p className="soft break">{error instanceof Error ? error.message : String(error)}</p>
      <p className="crash-ways">
        <button type="button" className="link" onClick={() => location.reload()}>
          {text.reload}
        </button>
        <a href="/timers">{text.backToTimers}</a>
      </p>
    </div>
  );
}
