import { Body, Controller, Inject, Param, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, type ApiBodyOptions, ApiTags } from '@nestjs/swagger';
import {
  BatchJob,
  ErrorCode,
  JobCanceled,
  JobId,
  JobList,
  JobListQuery,
  JobPublished,
  JobRef,
  JobRescheduled,
  JobsPublished,
  JobView,
  PublishJob,
  PublishJobs,
  PublishJobsEnvelope,
  RescheduleJob,
} from '@xtimer/contracts';
import type { Clock, JobService } from '@xtimer/pipeline';
import type { Database } from '@xtimer/store-sql';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { CLOCK, DATABASE, JOB_COMMANDS } from '../../tokens.js';
import { apiErrorOf } from '../error.filter.js';
import { CreateOnceRoute, GetRoute, PostRoute, QueryOrBody } from '../route.js';
import { SchemaPipe } from '../schema.pipe.js';
import { pageOf, refOf } from '../tasks/task-mapping.js';
import { actionTimeOf, jobView, newJobOf } from './job-mapping.js';

/** For what Nest's OpenAPI module doesn't see, or sees otherwise. */
const bodyOf = (schema: z.ZodType) =>
  ({ schema: z.toJSONSchema(schema, { io: 'input', target: 'openapi-3.0' }) }) as ApiBodyOptions;

const batchJob = new SchemaPipe(BatchJob);

@ApiTags('jobs')
@ApiBearerAuth()
@Controller('jobs')
export class JobsController {
  constructor(
    @Inject(JOB_COMMANDS) private readonly commands: JobService,
    @Inject(DATABASE) private readonly database: Database,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @CreateOnceRoute('', 'Publish a job: one call of its topic, later or at once', JobPublished)
  async publish(
    @Body({ schema: PublishJob }) { app, ...input }: PublishJob,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JobPublished> {
    const wanted = newJobOf(input, this.clock.now());
    const { job, created } = await this.commands.publish(app, input.topic, wanted);
    reply.status(created ? 201 : 200);
    return { ...jobView(job, input.topic), created };
  }

  @ApiBody(bodyOf(PublishJobs))
  @PostRoute('batch', 'Publish up to 1000 jobs; each is taken or refused by itself', JobsPublished)
  async publishBatch(
    @Body(new SchemaPipe(PublishJobsEnvelope)) { app, jobs }: z.output<typeof PublishJobsEnvelope>,
  ): Promise<JobsPublished> {
    const now = this.clock.now();
    // All at once, so that they share their statements.
    const settled = await Promise.allSettled(
      jobs.map(async (given) => {
        const input = batchJob.transform(given, { type: 'body' }) as BatchJob;
        return this.commands.publish(app, input.topic, newJobOf(input, now));
      }),
    );
    const results = settled.map((one): JobsPublished['results'][number] => {
      if (one.status === 'fulfilled') return { jobId: one.value.job.jobId, created: one.value.created };
      const known = apiErrorOf(one.reason);
      if (!known) throw one.reason;
      return { error: { code: known.code, message: known.message, ...known.data } };
    });
    // Nothing was taken, and not because of the jobs: the call as a whole failed.
    const first = settled[0]!;
    if (first.status === 'rejected' && results.every((one) => 'error' in one && one.error.code >= ErrorCode.internal)) {
      throw first.reason;
    }
    return { results };
  }

  @GetRoute('', 'Jobs of a topic, latest action time first', JobList)
  async list(@Query({ schema: JobListQuery }) query: z.output<typeof JobListQuery>) {
    const { app, topic, pageSize, cursor, ...filter } = query;
    const before = refOf(cursor);
    const { topicId } = await this.commands.findTopic(app, topic);
    const found = await this.database.jobs.listJobs({ topicId, ...filter, before, limit: pageSize + 1 });
    const { list, nextCursor } = pageOf(found, pageSize);
    return { list: list.map((job) => jobView(job, topic)), nextCursor };
  }

  @GetRoute(':jobId', 'One job', JobView)
  async get(
    @Param('jobId', { schema: JobId }) jobId: string,
    @Query({ schema: JobRef }) { app, topic }: z.output<typeof JobRef>,
  ): Promise<JobView> {
    return jobView(await this.commands.findJob(app, topic, jobId), topic);
  }

  @ApiBody(bodyOf(JobRef))
  @PostRoute(':jobId/cancel', 'Cancel a job that waits; the answer is final', JobCanceled)
  async cancel(
    @Param('jobId', { schema: JobId }) jobId: string,
    @QueryOrBody(new SchemaPipe(JobRef)) { app, topic }: z.output<typeof JobRef>,
  ) {
    const { outcome, job } = await this.commands.cancel(app, topic, jobId);
    // As it is now: the service looked before it canceled.
    const now = await this.database.jobs.findJob(job.topicId, jobId);
    return { outcome, job: jobView(now ?? job, topic) };
  }

  @ApiBody(bodyOf(RescheduleJob))
  @PostRoute(':jobId/reschedule', 'Move a job that waits to another time, earlier or later', JobRescheduled)
  async reschedule(
    @Param('jobId', { schema: JobId }) jobId: string,
    @QueryOrBody(new SchemaPipe(RescheduleJob)) input: RescheduleJob,
  ) {
    const at = actionTimeOf(input, this.clock.now());
    const { outcome, job } = await this.commands.reschedule(input.app, input.topic, jobId, at);
    return { outcome, job: jobView(job, input.topic) };
  }
}
