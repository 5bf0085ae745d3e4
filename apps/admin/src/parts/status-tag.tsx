import { TaskStatus, TimerStatus } from '@xtimer/pipeline/status';
import { type Text, useText } from '../i18n/text.js';
import { Again, Ban, Check, Clock, Cross, Flag, Pause, Play, Skip, Spin, Stop } from './icons.js';

/** Icon, word and colour for every status there is, so that none is told by colour alone. */

type Tone = 'good' | 'bad' | 'warn' | 'running' | 'quiet';

interface Look {
  Icon: typeof Check;
  tone: Tone;
  word(text: Text): string;
}

const timerLooks = {
  active: { Icon: Play, tone: 'good', word: (text) => text.timerStatus.active },
  /** Active, but no fire is left. */
  ended: { Icon: Flag, tone: 'quiet', word: (text) => text.timerStatus.ended },
  inactive: { Icon: Pause, tone: 'quiet', word: (text) => text.timerStatus.inactive },
  /** Paused by xtimer itself. */
  stopped: { Icon: Stop, tone: 'bad', word: (text) => text.timerStatus.stopped },
  deleted: { Icon: Ban, tone: 'quiet', word: (text) => text.timerStatus.deleted },
} as const satisfies Record<string, Look>;

const taskLooks: Record<TaskStatus, Look> = {
  [TaskStatus.notRun]: { Icon: Clock, tone: 'quiet', word: (text) => text.taskStatus.notRun },
  [TaskStatus.running]: { Icon: Spin, tone: 'running', word: (text) => text.taskStatus.running },
  [TaskStatus.succeeded]: { Icon: Check, tone: 'good', word: (text) => text.taskStatus.succeeded },
  [TaskStatus.failed]: { Icon: Cross, tone: 'bad', word: (text) => text.taskStatus.failed },
  [TaskStatus.canceled]: { Icon: Ban, tone: 'quiet', word: (text) => text.taskStatus.canceled },
  [TaskStatus.skipped]: { Icon: Skip, tone: 'warn', word: (text) => text.taskStatus.skipped },
};
const retrying: Look = { Icon: Again, tone: 'warn', word: (text) => text.taskStatus.retrying };

export type StatusTagProps =
  | { type: 'timer'; status: TimerStatus; statusReason?: string | null; hasNext?: boolean }
  | { type: 'task'; status: TaskStatus; attempt?: number };

function lookOf(props: StatusTagProps): Look {
  if (props.type === 'task') {
    // Planned, and tried before: it waits for another attempt.
    return props.status === TaskStatus.notRun && (props.attempt ?? 0) > 0 ? retrying : taskLooks[props.status];
  }
  if (props.status === TimerStatus.deleted) return timerLooks.deleted;
  if (props.status === TimerStatus.inactive) return props.statusReason ? timerLooks.stopped : timerLooks.inactive;
  return props.hasNext === false ? timerLooks.ended : timerLooks.active;
}

export function StatusTag(props: StatusTagProps) {
  const text = useText();
  const { Icon, tone, word } = lookOf(props);
  return (
    <span className={`status status-${tone}`}>
      <Icon size={14} />
      {word(text)}
    </span>
  );
}
