import { defineConfig } from 'vitest/config'

// One browser, one server, one story after the other.
export default defineConfig({
  test: { include: ['e2e/**/*.test.ts'], environment: 'node', fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000, sequence: { concurrent: false } },
})
