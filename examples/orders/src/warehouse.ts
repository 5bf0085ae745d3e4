import { Injectable } from '@nestjs/common';

/**
 * Somebody else's system, and not always well: it drops the first two requests for "teapot", and doesn't know "unicorn"
 * until `knows` says so.
 */
@Injectable()
export class Warehouse {
  readonly released: string[] = [];
  knows = new Set<string>();
  private readonly asked = new Map<string, number>();

  /** `reservation` is the order: releasing it again changes nothing. */
  async release(reservation: string, item: string): Promise<void> {
    const asked = (this.asked.get(reservation) ?? 0) + 1;
    this.asked.set(reservation, asked);
    if (item === 'teapot' && asked <= 2) throw new Error('the warehouse does not answer');
    if (item === 'unicorn' && !this.knows.has(item)) throw new Error('the warehouse has no shelf for "unicorn"');
    if (!this.released.includes(reservation)) this.released.push(reservation);
  }
}
