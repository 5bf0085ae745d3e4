import { Tooltip } from 'antd';
import { type ReactNode, useEffect } from 'react';
import { useText } from '../i18n/text.js';
import { createStore, useStore } from '../store.js';
import { clocksAgree, offsetOf, relative, viewerZone, wallClock } from '../time.js';

/** One clock for the whole page, running only while somebody looks at it. */
const clock = createStore(Date.now());
let watchers = 0;
let ticking: ReturnType<typeof setInterval> | undefined;

export function useNow(): number {
  useEffect(() => {
    if (watchers++ === 0) {
      clock.set(Date.now());
      ticking = setInterval(() => clock.set(Date.now()), 1_000);
    }
    return () => {
      if (--watchers === 0) clearInterval(ticking);
    };
  }, []);
  return useStore(clock);
}

interface MomentProps {
  at: number;
  /** The timer's zone: told beside the viewer's where their clocks differ. */
  zone?: string | undefined;
}

/** `2026-10-22 17:30:00 Asia/Shanghai, your time`, and the same in the timer's zone. */
export function ExactMoment({ at, zone }: MomentProps): ReactNode {
  const text = useText();
  return (
    <>
      <ZoneLine at={at} zone={viewerZone} whose={text.yourZone} />
      {zone && !clocksAgree(at, zone, viewerZone) && <ZoneLine at={at} zone={zone} whose={text.timerZone} />}
    </>
  );
}

const ZoneLine = ({ at, zone, whose }: { at: number; zone: string; whose: string }) => (
  <span className="zone-line">
    <span className="num">{wallClock(at, zone)}</span> {zone} ({offsetOf(at, zone)}), {whose}
  </span>
);

/** Counts up or down; the exact moment shows on hover and focus. */
export function Relative({ at, zone }: MomentProps) {
  const text = useText();
  const now = useNow();
  return (
    <WithExact at={at} zone={zone}>
      {relative(at, now, text)}
    </WithExact>
  );
}

/** The viewer's wall clock; zones and distance on hover and focus. */
export function WallClock({ at, zone }: MomentProps) {
  return (
    <WithExact at={at} zone={zone} far>
      {wallClock(at, viewerZone)}
    </WithExact>
  );
}

function WithExact({ at, zone, far, children }: MomentProps & { far?: boolean; children: ReactNode }) {
  const text = useText();
  const title = () => (
    <>
      {far && <span className="zone-line">{relative(at, Date.now(), text)}</span>}
      <ExactMoment at={at} zone={zone} />
    </>
  );
  return (
    <Tooltip title={title} styles={{ root: { maxWidth: 'min(460px, calc(100vw - 32px))' } }}>
      <time className="num" dateTime={new Date(at).toISOString()}>
        {children}
      </time>
    </Tooltip>
  );
}
