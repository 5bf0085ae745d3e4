import type { XtimerOptions } from '@xtimer/nestjs';

export interface ShopConfig {
  /** Where the shop listens. */
  port: number;
  /** An order that is not paid within this time is canceled, ms. */
  payWithinMs: number;
  xtimer: XtimerOptions;
}

export function configOf(env: NodeJS.ProcessEnv): ShopConfig {
  const port = Number(env.PORT ?? 3000);
  return {
    port,
    payWithinMs: Number(env.PAY_WITHIN_MS ?? 15 * 60_000),
    xtimer: {
      url: env.SHOP_XTIMER_URL ?? 'http://127.0.0.1:8082',
      token: env.SHOP_XTIMER_TOKEN,
      app: 'shop',
      secret: env.SHOP_XTIMER_SECRET,
      baseUrl: env.SHOP_URL ?? `http://127.0.0.1:${port}`,
    },
  };
}
