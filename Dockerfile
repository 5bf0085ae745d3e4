# One image for every node. Configuration comes from XTIMER_… variables only.

FROM node:22-slim AS build
WORKDIR /app
COPY . .
RUN npm ci --loglevel=error
RUN npx turbo run build --output-logs=errors-only
# From here on only what runs: the server's own dependencies, and each package's dist, Lua and SQL.
RUN npm ci --loglevel=error --omit=dev --workspace=@xtimer/server
RUN rm -rf .turbo turbo.json tsconfig.base.json apps/receiver apps/bench packages/testkit packages/nestjs examples \
  && find apps packages -mindepth 2 -maxdepth 2 \
    ! -name dist ! -name lua ! -name queries ! -name package.json ! -name node_modules -exec rm -rf {} +

FROM node:22-slim
ENV NODE_ENV=production XTIMER_HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app ./
# The embedded mode's database. Mount a volume here to keep it.
RUN mkdir data && chown node:node data
USER node
EXPOSE 8082
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.XTIMER_PORT ?? 8082}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "apps/server/dist/main.js"]
