import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { TimerView } from '@xtimer/contracts';
import { TimerStatus } from '@xtimer/pipeline/status';
import { App } from 'antd';
import { Link } from 'react-router';
import { useText } from './i18n/text.js';
import { sayError } from './parts/states.js';
import { session } from './session.js';

interface TimerPage {
  list: TimerView[];
}

/** What can be done to a timer, from its row and from its page. */
export function useTimerActions({ onRemoved }: { onRemoved?: () => void } = {}) {
  const text = useText();
  const cache = useQueryClient();
  const { message, modal } = App.useApp();
  const fail = (error: unknown) => void message.error(sayError(error, text), 6);
  const refresh = () =>
    Promise.all(['timers', 'timer', 'tasks', 'next'].map((key) => cache.invalidateQueries({ queryKey: [key] })));

  /** Shown as done at once, and taken back when the server refuses. */
  const toggle = useMutation({
    mutationFn: ({ timerId, status }: TimerView) =>
      session.client.timers[status === TimerStatus.active ? 'pause' : 'enable']({ timerId }),
    onMutate: async ({ timerId, status }) => {
      await cache.cancelQueries({ queryKey: ['timers'] });
      await cache.cancelQueries({ queryKey: ['timer', timerId] });
      const before = [
        ...cache.getQueriesData<TimerPage>({ queryKey: ['timers'] }),
        ...cache.getQueriesData<TimerView>({ queryKey: ['timer', timerId] }),
      ];
      const next = status === TimerStatus.active ? TimerStatus.inactive : TimerStatus.active;
      const turned = (timer: TimerView) => (timer.timerId === timerId ? { ...timer, status: next } : timer);
      cache.setQueriesData<TimerPage>(
        { queryKey: ['timers'] },
        (page) => page && { ...page, list: page.list.map(turned) },
      );
      cache.setQueriesData<TimerView>({ queryKey: ['timer', timerId] }, (timer) => timer && turned(timer));
      return before;
    },
    onSuccess: ({ name, status }) => {
      void message.success(status === TimerStatus.active ? text.timers.enabled(name) : text.timers.pausedDone(name));
    },
    onError: (error, _timer, before) => {
      for (const [key, data] of before ?? []) cache.setQueryData(key, data);
      fail(error);
    },
    onSettled: refresh,
  });

  const run = useMutation({
    mutationFn: ({ timerId }: TimerView) => session.client.timers.run({ timerId }),
    onSuccess: ({ taskId }, { name, timerId }) => {
      const to = `/history?timerId=${timerId}&task=${taskId}`;
      void message.success(
        <>
          {text.timers.started(name)} <Link to={to}>{text.timers.showRun}</Link>
        </>,
        6,
      );
    },
    onError: fail,
    onSettled: refresh,
  });

  const remove = useMutation({
    mutationFn: ({ timerId }: TimerView) => session.client.timers.delete({ timerId }),
    onSuccess: (_nothing, { name }) => {
      void message.success(text.timers.removed(name));
      onRemoved?.();
    },
    onError: fail,
    onSettled: refresh,
  });

  return {
    toggle: (timer: TimerView) => toggle.mutate(timer),
    run: (timer: TimerView) => run.mutate(timer),
    remove: (timer: TimerView) =>
      void modal.confirm({
        title: text.timers.removeTitle(timer.name),
        content: text.timers.removeText,
        okText: text.timers.remove,
        okButtonProps: { danger: true },
        cancelText: text.cancel,
        icon: null,
        onOk: () => remove.mutateAsync(timer).catch(() => {}),
      }),
    busy: (timerId: number) =>
      [toggle, run, remove].some(({ isPending, variables }) => isPending && variables.timerId === timerId),
  };
}
