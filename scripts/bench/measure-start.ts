/** Cold start, five times over a fresh home: until the page answers, until messages are fetched; against importing the same packages. */
import { get } from 'node:http';
import { packages } from './measure-turns.ts';
import { compare, state, type Row } from './report.ts';
import { openScene } from './scene.ts';
import type { Workshop } from './workshop.ts';

const rounds = 5;

export async function measureStart(shop: Workshop): Promise<Row[]> {
  const healthy: number[] = [];
  const page: number[] = [];
  const polling: number[] = [];
  const cpu: number[] = [];
  const imports: number[] = [];
  const importsCpu: number[] = [];
  const barePolling: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await inScene(async (scene) => {
      const polled = scene.firstPoll();
      const daemon = await shop.startDaemon(scene);
      healthy.push((await answered(`${daemon.url}/healthz`)) - daemon.startedAt);
      page.push((await answered(`${daemon.url}/`)) - daemon.startedAt);
      polling.push((await polled) - daemon.startedAt);
      cpu.push(daemon.cpuMs());
      await daemon.stop();
    });
    const bare = shop.startImports(packages);
    imports.push((await bare.printed('ready')) - bare.startedAt);
    importsCpu.push(bare.cpuMs());
    await bare.stop();
    await inScene(async (scene) => {
      const polled = scene.firstPoll();
      const bot = shop.startBareBot(scene);
      barePolling.push((await polled) - bot.startedAt);
      await bot.stop();
    });
  }
  return [
    state('start to /healthz', 'ms', healthy),
    state('start to the page', 'ms', page, { most: 1000 }),
    compare('start to polling, against bare imports', 'ms', polling, imports, { most: 1.3 }),
    compare('start to polling, CPU', 'ms', cpu, importsCpu, { most: 1.3 }),
    compare('start to polling, against the bare bot', 'ms', polling, barePolling),
  ];
}

async function inScene(act: (scene: Awaited<ReturnType<typeof openScene>>) => Promise<void>): Promise<void> {
  const scene = await openScene('a program');
  try {
    await act(scene);
  } finally {
    await scene.close();
  }
}

/** The moment of the first answer that is no fault, asked for every 5 ms. */
async function answered(url: string): Promise<number> {
  for (const until = performance.now() + 20_000; performance.now() < until; ) {
    const status = await new Promise<number>((resolve) => get(url, { agent: false }, (response) => resolve(response.resume().statusCode ?? 0)).on('error', () => resolve(0)));
    if (status >= 200 && status < 400) return performance.now();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${url} did not answer within 20 s`);
}
