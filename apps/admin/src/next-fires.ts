import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { CronPreview, PreviewCron, TimerView } from '@xtimer/contracts';
import { TaskStatus, TimerStatus } from '@xtimer/pipeline/status';
import { useNow } from './parts/moment.js';
import { useLanguage } from './preferences.js';
import { every } from './query.js';
import { session } from './session.js';

/** Upcoming fires. They come from the server's own recurrence code, never from the browser. */

export type Schedule = Pick<PreviewCron, 'cron' | 'cronDialect' | 'timezone' | 'dst' | 'from' | 'count'>;

export function useCronPreview(schedule: Schedule | null) {
  const language = useLanguage();
  return useQuery<CronPreview>({
    queryKey: ['cron', schedule, language],
    queryFn: ({ signal }) => session.client.cron.preview(schedule!, { signal }),
    enabled: schedule !== null,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

const ASKED = 60;

/**
 * The coming fires of an active timer, soonest first; `undefined` while they are not known, empty when none is left.
 * `nextFireAt` of a timer is not it: that is the first fire that has no task yet, up to two hours ahead.
 */
export function useNextFires(timer: TimerView): number[] | undefined {
  const now = useNow();
  const { timerId, version, status, nextFireAt, cron, cronDialect, timezone, dst, startAt, endAt } = timer;
  const active = status === TimerStatus.active;
  const { data } = useQuery({
    queryKey: ['next', timerId, version, nextFireAt === null],
    queryFn: async ({ signal }) => {
      if (nextFireAt !== null) {
        const from = Math.max(Date.now() - 1, (startAt ?? 1) - 1);
        const asked = { cron, cronDialect, timezone, dst, from, count: ASKED };
        const { next } = await session.client.cron.preview(asked, { signal });
        return endAt === null ? next : next.filter((at) => at < endAt);
      }
      // All are tasks already: only those know how many are left, by end or by number.
      const query = { timerId, status: TaskStatus.notRun, startTime: Date.now(), pageSize: 200 };
      const { list } = await session.client.tasks.list(query, { signal });
      return list.map(({ runTimer }) => runTimer).reverse();
    },
    enabled: active,
    // Asked again when they are used up: a timer of every second has sixty for a minute.
    refetchInterval: ({ state }) => {
      const last = state.data?.at(-1);
      return every(last === undefined ? 60_000 : Math.min(Math.max(last - Date.now() - 10_000, 5_000), 600_000))();
    },
  });
  return active ? data?.filter((at) => at > now) : [];
}
