import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, NotFoundException } from '@nestjs/common';
import { DelayConsumer, DelayQueue, type XtimerContext, XtimerCron } from '@xtimer/nestjs';
import { DataSource, type EntityManager } from 'typeorm';
import type { ShopConfig } from './config.js';
import { Order, Report, Transactions } from './database.js';
import { SHOP_CONFIG } from './tokens.js';
import { Warehouse } from './warehouse.js';

type Context = XtimerContext<EntityManager>;

@Injectable()
export class OrdersService {
  private readonly logger = new Logger('Shop');

  constructor(
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
    private readonly queue: DelayQueue,
    private readonly transactions: Transactions,
    private readonly dataSource: DataSource,
    private readonly warehouse: Warehouse,
  ) {}

  async place(item: string): Promise<Order> {
    const order: Order = { orderId: randomUUID(), item, status: 'unpaid' };
    await this.transactions.run(async (manager) => {
      await manager.insert(Order, order);
      // Before the commit: there is no order without its timeout. A timeout without its order finds nothing to do.
      await this.queue.publish(
        'order-timeout',
        { orderId: order.orderId },
        { delayMs: this.config.payWithinMs, jobId: order.orderId },
      );
    });
    return order;
  }

  /** The order decides, not the queue: a timeout that is under way just now finds it paid, or has canceled it. */
  async pay(orderId: string): Promise<{ order: Order; timeout: string }> {
    await this.transactions.run((manager) => manager.update(Order, { orderId, status: 'unpaid' }, { status: 'paid' }));
    const order = await this.find(orderId);
    const { outcome } = await this.queue.cancel('order-timeout', orderId);
    return { order, timeout: outcome };
  }

  async find(orderId: string): Promise<Order> {
    const order = await this.dataSource.manager.findOneBy(Order, { orderId });
    if (!order) throw new NotFoundException(`there is no order ${orderId}`);
    return order;
  }

  reports(): Promise<Report[]> {
    return this.dataSource.manager.find(Report);
  }

  /** Three attempts within a second or so, to be seen in a demo; real ones wait longer. */
  @DelayConsumer('order-timeout', {
    description: 'Cancels an order that is not paid in time',
    timeoutMs: 5_000,
    retry: { maxAttempts: 3, initialDelayMs: 300, factor: 2 },
  })
  async cancelUnpaid({ orderId }: { orderId: string }, { attempt, transaction }: Context) {
    const { affected } = await transaction.update(Order, { orderId, status: 'unpaid' }, { status: 'canceled' });
    if (affected === 0) return { canceled: false };
    const { item } = await transaction.findOneByOrFail(Order, { orderId });
    // What fails here takes the update above with it; the next attempt starts from an unpaid order.
    await this.warehouse.release(orderId, item);
    this.logger.log(`order ${orderId} was not paid and is canceled (attempt ${attempt})`);
    return { canceled: true };
  }

  @XtimerCron({ name: 'nightly report', cron: '0 30 2 * * ?', timezone: 'Asia/Shanghai' })
  async report(_payload: unknown, { taskId, transaction }: Context) {
    const canceledOrders = await transaction.countBy(Order, { status: 'canceled' });
    await transaction.insert(Report, { taskId, canceledOrders });
    this.logger.log(`nightly report: ${canceledOrders} orders canceled`);
    return { canceledOrders };
  }
}
