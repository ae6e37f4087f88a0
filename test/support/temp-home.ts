/** A fresh home folder that is removed when the test ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export function tempHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'hermes-test-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}
