/** One job after another for each key, keys side by side: the messages of a channel stay in order while another channel waits. */

export interface InOrder {
  /** Runs the job when the earlier ones of its key have ended. A job must not reject. */
  add(key: string, job: () => Promise<void>): void;
  /** Resolves when nothing runs or waits. */
  idle(): Promise<void>;
}

export function createInOrder(): InOrder {
  const last = new Map<string, Promise<void>>();
  return {
    add(key, job) {
      const mine = (last.get(key) ?? Promise.resolve()).then(job);
      last.set(key, mine);
      void mine.finally(() => {
        if (last.get(key) === mine) last.delete(key);
      });
    },
    async idle() {
      while (last.size > 0) await Promise.all(last.values());
    },
  };
}
