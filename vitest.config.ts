import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Most tests wait for processes and limits: more workers than cores use that time.
    maxWorkers: 3,
    // No module keeps state of its own, so the files of a worker may share what they import.
    isolate: false,
  },
});
