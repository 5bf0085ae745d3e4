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
  definitionIdOf,
  isJob,
  type JobService,
  parseTaskId,
  type Task,
  type TaskRef,
  type TaskStore,
  type TimerCommands,
  type TimerStore,
  taskIdOf,
} from '@xtimer/pipeline';
import type { Database } from '@xtimer/store-sql';
import { z } from 'zod';
import { DATABASE, JOB_COMMANDS, TASK_STORE, TIMER_COMMANDS, TIMER_STORE } from '../../tokens.js';
import { By } from '../access/by.decorator.js';
import { notFound } from '../api-error.js';
import { GetRoute, PostRoute } from '../route.js';
import { pageOf, refOf, type TaskOf, taskDetail, taskView } from './task-mapping.js';

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
    @Inject(JOB_COMMANDS) private readonly jobs: JobService,
    @Inject(DATABASE) private readonly database: Database,
  ) {}

  @GetRoute('getTaskList', 'Executions, planned ones too, newest first', TaskList)
  async list(@Query({ schema: TaskListQuery }) query: z.output<typeof TaskListQuery>) {
    const { pageSize, cursor, ...given } = query;
    const before = refOf(cursor);
    const filter = await this.filterOf({ ...given, app: given.app ?? null });
    const counted = filter.startTime !== undefined && filter.endTime !== undefined;
    const [found, total] = await Promise.all([
      this.tasks.history({ ...filter, before, limit: pageSize + 1 }),
      counted ? this.tasks.count(filter, COUNTED_AT_MOST) : null,
    ]);
    const { list, nextCursor } = pageOf(found, pageSize);
    const ofTask = await this.namesOf(list);
    return { list: list.map((task) => taskView(task, ofTask(task))), nextCursor, total };
  }

  @GetRoute('getTask', 'One execution with its failed attempts', TaskDetail)
  async get(@Query({ schema: TaskRefQuery }) query: z.output<typeof TaskRefQuery>) {
    const ref = parseTaskId(query.taskId);
    const task = ref && (await this.commands.findTask(query.app ?? null, ref));
    if (!task) throw notFound('taskId', query.taskId);
    const [ofTask, attempts] = await Promise.all([this.namesOf([task]), this.tasks.attempts(task)]);
    return taskDetail(task, ofTask(task), attempts);
  }

  @PostRoute(
    'cancelTask',
    'Cancel planned executions: one, many, or all that match a filter',
    z.union([TasksCanceled, TasksMatched]),
  )
  async cancel(@Body({ schema: CancelTask }) input: z.output<typeof CancelTask>, @By() by: string) {
    if (input.filter) return this.commands.cancelMatching(await this.filterOf(input.filter), by);
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
    if (filter) return this.commands.replayMatching(await this.filterOf(filter), ratePerSecond, by);
    const taskIds = idsOf(input);
    return resultsOf(taskIds, await this.commands.replay(app, taskIds.map(refOfId), ratePerSecond, by));
  }

  /** Topics are named, tasks know their ids. A topic comes with its app. */
  private async filterOf<T extends { app: string | null; topic?: string | undefined }>({ topic, ...filter }: T) {
    if (topic === undefined) return filter;
    const { topicId } = await this.jobs.findTopic(filter.app!, topic);
    return { ...filter, topicId };
  }

  /** Deleted timers and topics still name their history. */
  private async namesOf(tasks: readonly Task[]): Promise<(task: Task) => TaskOf> {
    if (tasks.length === 0) return () => ({ name: '', jobId: undefined });
    const ids = [...new Set(tasks.map(({ timerId }) => definitionIdOf(timerId)))];
    const [definitions, jobIds] = await Promise.all([
      this.timers.definitions(ids),
      this.database.jobs.jobIds(tasks.filter(({ timerId }) => isJob(timerId))),
    ]);
    const names = new Map(definitions.map(({ timerId, name }) => [timerId, name]));
    return (task) => ({ name: names.get(definitionIdOf(task.timerId)) ?? '', jobId: jobIds.get(taskIdOf(task)) });
  }
}

const idsOf = (input: { taskId?: string | undefined; taskIds?: string[] | undefined }): string[] =>
  input.taskIds ?? [input.taskId!];

const refOfId = (taskId: string): TaskRef => parseTaskId(taskId)!;

const resultsOf = <T>(taskIds: readonly string[], outcomes: readonly T[]) => ({
  results: taskIds.map((taskId, at) => ({ taskId, outcome: outcomes[at]! })),
});
