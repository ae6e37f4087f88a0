/** The container's files keep their rules, and each rule is broken once to see that it is noticed. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { tempHome } from '../support/temp-home.ts';

const root = resolve(import.meta.dirname, '../..');
// A script and no module of the program: its type is said here.
const { lintContainer } = (await import(pathToFileURL(join(root, 'scripts', 'lint-container.mjs')).href)) as { lintContainer(root: string): string[] };

/** A copy of what the rules look at, with one thing changed. */
function changed(file: string, before: string, after: string): string {
  const folder = tempHome();
  for (const path of ['Dockerfile', 'docker-compose.yml', '.dockerignore', '.env.example', 'package.json', 'package-lock.json', '.npmrc', 'LICENSE', 'src/main.ts', 'config/toolsets.yaml', 'adapters/index.ts', 'scripts/build.mjs']) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
  const text = readFileSync(join(folder, file), 'utf8');
  expect(text, 'the test changes something that is there').toContain(before);
  writeFileSync(join(folder, file), text.replace(before, after));
  return folder;
}

test('the files of this repository keep the rules', () => {
  expect(lintContainer(root)).toEqual([]);
  const { status, stdout } = spawnSync(process.execPath, [join(root, 'scripts', 'check-container.mjs'), '--lint'], { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, expect.stringContaining('are kept')]);
});

test.each([
  ['Dockerfile', 'node:24-bookworm-slim', 'node:latest', 'a base is not node:'],
  ['Dockerfile', 'USER 1000:1000', 'USER root', 'USER is not a number above 0'],
  ['Dockerfile', 'ENTRYPOINT ["node", "/app/dist/hermes.js"]', 'ENTRYPOINT node /app/dist/hermes.js', 'ENTRYPOINT is not in exec form'],
  ['Dockerfile', '/healthz', '/', 'HEALTHCHECK does not ask /healthz'],
  ['Dockerfile', 'STOPSIGNAL SIGTERM\n', '', 'STOPSIGNAL is not SIGTERM'],
  ['Dockerfile', 'npm ci --no-progress', 'npm install', 'installs without the lock file'],
  ['Dockerfile', 'HERMES_HTTP_HOST=0.0.0.0', 'HERMES_HTTP_HOST=127.0.0.1', 'ENV has to set HERMES_HOME=/data, HERMES_HTTP_HOST=0.0.0.0'],
  ['Dockerfile', 'NODE_ENV=production', 'NODE_ENV=production HERMES_API_KEY=1', 'puts a secret into the image'],
  ['docker-compose.yml', '"127.0.0.1:8642:8642"', '"8642:8642"', 'the port is not bound to 127.0.0.1:8642'],
  ['docker-compose.yml', 'read_only: true', 'read_only: false', 'the root file system can be written'],
  ['docker-compose.yml', 'no-new-privileges:true', 'label:x', 'lacks no-new-privileges'],
  ['docker-compose.yml', '- ALL', '- NET_RAW', 'keeps capabilities'],
  ['docker-compose.yml', 'stop_grace_period: 30s', 'stop_grace_period: 10s', 'stop_grace_period is not 25s or more'],
  ['docker-compose.yml', 'hermes-data:/data', './data:/data', 'the volume is not a named one'],
  ['docker-compose.yml', 'restart: unless-stopped', 'restart: [', 'docker-compose.yml: '],
  ['.dockerignore', '**/.env*\n', '!.env\n', 'lets .env into the build'],
  ['.dockerignore', '!scripts/build.mjs\n', '', 'keeps scripts/build.mjs out of the build'],
  ['.env.example', '# TELEGRAM_BOT_TOKEN=', 'TELEGRAM_BOT_TOKEN=', 'sets TELEGRAM_BOT_TOKEN'],
])('%s with %j changed to %j is refused', (file, before, after, problem) => {
  const problems = lintContainer(changed(file, before, after));
  expect(problems.join('\n')).toContain(problem);
  expect(problems.length, problems.join('\n')).toBeLessThanOrEqual(3);
});
