import { Body, Controller, Inject, Param, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, type ApiBodyOptions, ApiTags } from '@nestjs/swagger';
import {
  CreateTopic,
  DeleteTopic,
  TopicDeleted,
  TopicList,
  TopicListQuery,
  TopicName,
  TopicRef,
  TopicView,
  TopicWithCounts,
  UpdateTopic,
} from '@xtimer/contracts';
import type { JobService, Topic } from '@xtimer/pipeline';
import type { Database } from '@xtimer/store-sql';
import { z } from 'zod';
import { DATABASE, JOB_COMMANDS } from '../../tokens.js';
import { By } from '../access/by.decorator.js';
import { CreateRoute, DeleteRoute, GetRoute, PutRoute, QueryOrBody } from '../route.js';
import { SchemaPipe } from '../schema.pipe.js';
import { TargetCheck } from '../timers/target-check.js';
import { newTopicOf, topicChangesOf, topicView } from './topic-mapping.js';

/** No more jobs of a state than this are counted. */
const COUNTED_AT_MOST = 10_000;

const UPDATE_TOPIC = { schema: z.toJSONSchema(UpdateTopic, { io: 'input', target: 'openapi-3.0' }) } as ApiBodyOptions;

@ApiTags('topics')
@ApiBearerAuth()
@Controller('topics')
export class TopicsController {
  constructor(
    @Inject(JOB_COMMANDS) private readonly commands: JobService,
    @Inject(DATABASE) private readonly database: Database,
    private readonly targets: TargetCheck,
  ) {}

  @CreateRoute('', 'Create a topic: what the jobs published to it call', TopicView)
  async create(@Body({ schema: CreateTopic }) input: CreateTopic, @By() by: string): Promise<TopicView> {
    const topic = newTopicOf(input);
    this.targets.check(topic.notifyHttpParam);
    return topicView(await this.commands.createTopic(topic, by));
  }

  @GetRoute('', 'Topics by app and name, with the numbers of their jobs', TopicList)
  async list(@Query({ schema: TopicListQuery }) query: z.output<typeof TopicListQuery>) {
    const { app = null, page, pageSize } = query;
    const { list, total } = await this.database.jobs.listTopics({ app, page, pageSize });
    const counted: TopicWithCounts[] = [];
    // One after the other: counting a large topic is work that firing should not wait for.
    for (const topic of list) counted.push(await this.counted(topic));
    return { list: counted, total, page, pageSize };
  }

  @GetRoute(':topic', 'One topic, with the numbers of its jobs', TopicWithCounts)
  async get(
    @Param('topic', { schema: TopicName }) topic: string,
    @Query({ schema: TopicRef }) { app }: z.output<typeof TopicRef>,
  ): Promise<TopicWithCounts> {
    return this.counted(await this.commands.findTopic(app, topic));
  }

  @ApiBody(UPDATE_TOPIC)
  @PutRoute(':topic', 'Change fields of a topic; what is left out stays. `status` 1 pauses, 2 resumes', TopicView)
  async update(
    @Param('topic', { schema: TopicName }) topic: string,
    @QueryOrBody(new SchemaPipe(UpdateTopic)) input: UpdateTopic,
    @By() by: string,
  ): Promise<TopicView> {
    const changes = topicChangesOf(input, await this.commands.findTopic(input.app, topic));
    if (changes.notifyHttpParam) this.targets.check(changes.notifyHttpParam);
    return topicView(await this.commands.updateTopic(input.app, topic, changes, by));
  }

  @DeleteRoute(':topic', 'Delete a topic; the history of its jobs stays readable', TopicDeleted)
  async delete(
    @Param('topic', { schema: TopicName }) topic: string,
    @Query({ schema: DeleteTopic }) { app, cancelJobs = false }: z.output<typeof DeleteTopic>,
    @By() by: string,
  ) {
    return { canceled: await this.commands.deleteTopic(app, topic, cancelJobs, by) };
  }

  private async counted(topic: Topic): Promise<TopicWithCounts> {
    return { ...topicView(topic), ...(await this.database.jobs.countJobs(topic.topicId, COUNTED_AT_MOST)) };
  }
}
