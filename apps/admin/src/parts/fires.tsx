import { useText } from '../i18n/text.js';
import { clocksAgree, offsetOf, relative, viewerZone, wallClock } from '../time.js';
import { Clock } from './icons.js';
import { useNow } from './moment.js';

/** Coming fires in the viewer's zone and the timer's, with a mark where the timer's clock has been moved before one. */
export function Fires({ fires, zone }: { fires: readonly number[]; zone: string }) {
  const text = useText();
  const now = useNow();
  const both = fires.some((at) => !clocksAgree(at, zone, viewerZone));
  return (
    <table className="fires num">
      <thead>
        <tr>
          <th scope="col">
            {viewerZone}, {text.yourZone}
          </th>
          {both && (
            <th scope="col">
              {zone}, {text.timerZone}
            </th>
          )}
          <th scope="col">
            <span className="visually-hidden">{text.form.nextTen}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {fires.map((at, i) => {
          const before = fires[i - 1] ?? now;
          const moved = offsetOf(before, zone) !== offsetOf(at, zone);
          return (
            <tr key={at}>
              <td>{wallClock(at, viewerZone)}</td>
              {both && <td>{wallClock(at, zone)}</td>}
              <td className="soft">
                {relative(at, now, text)}
                {moved && (
                  <span className="dst-mark">
                    <Clock size={12} /> {offsetOf(before, zone)} → {offsetOf(at, zone)}
                    <span className="visually-hidden"> {text.form.dstMark}</span>
                  </span>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
