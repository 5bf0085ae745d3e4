import { Injectable, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import Libsql from 'libsql';
import { Column, DataSource, Entity, type EntityManager, PrimaryColumn } from 'typeorm';

export type OrderStatus = 'unpaid' | 'paid' | 'canceled';

@Entity('orders')
export class Order {
  @PrimaryColumn({ type: 'varchar', length: 36 })
  orderId!: string;

  @Column({ type: 'varchar', length: 64 })
  item!: string;

  @Column({ type: 'varchar', length: 16 })
  status!: OrderStatus;
}

/** One row for each nightly run. */
@Entity('reports')
export class Report {
  @PrimaryColumn({ type: 'varchar', length: 64 })
  taskId!: string;

  @Column({ type: 'integer' })
  canceledOrders!: number;
}

/** The calls whose effects are in this database. Older than a replay may come, a row can go. */
@Entity('claimed_calls')
export class ClaimedCall {
  @PrimaryColumn({ type: 'varchar', length: 64 })
  key!: string;

  /** Epoch ms. */
  @Column({ type: 'bigint' })
  claimedAt!: number;
}

/**
 * On MySQL or PostgreSQL `dataSource.transaction(work)` is all there is to it. SQLite has one connection, which
 * TypeORM shares: here everything that writes takes its turn.
 */
@Injectable()
export class Transactions {
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly dataSource: DataSource) {}

  run<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const mine = this.last.then(() => this.dataSource.transaction(work));
    this.last = mine.catch(() => {});
    return mine;
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      ...{ type: 'better-sqlite3', driver: Libsql, database: ':memory:' },
      entities: [Order, Report, ClaimedCall],
      // For a database that lives as long as the process; others have migrations.
      synchronize: true,
    }),
  ],
  providers: [Transactions],
  exports: [Transactions],
})
export class DatabaseModule {}
