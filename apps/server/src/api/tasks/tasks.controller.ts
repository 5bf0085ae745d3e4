import { Body, Controller, Inject, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import {
  CancelTask,
  RetryTask,
  TaskDetail,
  TaskList,
  TaskListQuery,
  TaskRefQuery,
  TasksCanceled,
  TasksMatched,
  TasksRetried,
} from '@xtimer/contracts';
import {
  parseTaskId,
  type Task,
  type TaskRef,
  type TaskStore,
  type TimerCommands,
  type TimerStore,
} from '@xtimer/pipeline';
import { z } from 'zod';
import { TASK_STORE, TIMER_COMMANDS, TIMER_STORE } from '../../tokens.js';
import { By } from '../access/by.decorator.js';
import { invalidInput, notFound } from '../api-error.js';
import { GetRoute, PostRoute } from '../route.js';
import { cursorOf, refOf, taskDetail, taskView } from './task-mapping.js';

/** A range with more tasks than this has no total: it would cost more than the page. */
const COUNTED_AT_MOST = 10_000;

@ApiTags('tasks')
@ApiBearerAuth()
@Controller('xtimer')
export class TasksController {
  constructor(
    @Inject(TIMER_COMMANDS) private readonly commands: TimerCommands,
    @Inject(TIMER_STORE) private readonly timers: TimerStore,
    @Inject(TASK_STORE) private readonly tasks: TaskStore,
  ) {}

  @GetRoute('getTaskList', 'Executions, planned ones too, newest first', TaskList)
  async list(@Query({ schema: TaskListQuery }) query: z.output<typeof TaskListQuery>) {
    const { app = null, pageSize, cursor, ...filter } = query;
    const before = cursor === undefined ? null : refOf(cursor);
    if (cursor !== undefined && !before) {
      throw invalidInput([{ field: 'cursor', value: cursor, expected: 'the nextCursor of the page before' }]);
    }
    const counted = filter.startTime !== undefined && filter.endTime !== undefined;
    const [found, total] = await Promise.all([
      this.tasks.history({ app, ...filter, before, limit: pageSize + 1 }),
      counted ? this.tasks.count({ app, ...filter }, COUNTED_AT_MOST) : null,
    ]);
    const page = found.slice(0, pageSize);
    const names = await this.namesOf(page);
    return {
      list: page.map((task) => taskView(task, names.get(task.timerId) ?? '')),
      nextCursor: found.length > pageSize ? cursorOf(page.at(-1)!) : null,
      total,
    };
  }

  @GetRoute('getTask', 'One execution with its failed attempts', TaskDetail)
  async get(@Query({ schema: TaskRefQuery }) query: z.output<typeof TaskRefQuery>) {
    const ref = parseTaskId(query.taskId);
    const task = ref && (await this.commands.findTask(query.app ?? null, ref));
    if (!task) throw notFound('taskId', query.taskId);
    const [names, attempts] = await Promise.all([this.namesOf([task]), this.tasks.attempts(task)]);
    return taskDetail(task, names.get(task.timerId) ?? '', attempts);
  }

  @PostRoute(
    'cancelTask',
    'Cancel planned executions: one, many, or all that match a filter',
    z.union([TasksCanceled, TasksMatched]),
  )
  async cancel(@Body({ schema: CancelTask }) input: z.output<typeof CancelTask>, @By() by: string) {
    if (input.filter) return this.commands.cancelMatching(input.filter, by);
    const taskIds = idsOf(input);
    return resultsOf(taskIds, await this.commands.cancel(input.app ?? null, taskIds.map(refOfId), by));
  }

  @PostRoute(
    'retryTask',
    'Run ended executions once more, with the same idempotency key: one, many, or all that match a filter',
    z.union([TasksRetried, TasksMatched]),
  )
  async retry(@Body({ schema: RetryTask }) input: z.output<typeof RetryTask>, @By() by: string) {
    const { app = null, filter, ratePerSecond = null } = input;
    if (filter) return this.commands.replayMatching(filter, ratePerSecond, by);
    const taskIds = idsOf(input);
    return resultsOf(taskIds, await this.commands.replay(app, taskIds.map(refOfId), ratePerSecond, by));
  }

  /** Deleted timers still name their history. */
  private async namesOf(tasks: readonly Task[]): Promise<Map<number, string>> {
    if (tasks.length === 0) return new Map();
    const definitions = await this.timers.definitions([...new Set(tasks.map((task) => task.timerId))]);
    return new Map(definitions.map(({ timerId, name }) => [timerId, name]));
  }
}

const idsOf = (input: { taskId?: string | undefined; taskIds?: string[] | undefined }): string[] =>
  input.taskIds ?? [input.taskId!];

const refOfId = (taskId: string): TaskRef => parseTaskId(taskId)!;

const resultsOf = <T>(taskIds: readonly string[], outcomes: readonly T[]) => ({
  results: taskIds.map((taskId, at) => ({ taskId, outcome: outcomes[at]! })),
});
