import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npm run dev -w apps/admin` talks to a server started apart. */
const SERVER = process.env.XTIMER_DEV_SERVER ?? 'http://127.0.0.1:3000';
const API = ['/xtimer', '/apps', '/healthz', '/readyz'];

export default defineConfig({
  plugins: [react()],
  server: { proxy: Object.fromEntries(API.map((path) => [path, SERVER])) },
  // Nothing inline: a strict content security policy is to hold.
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 1200 },
});
