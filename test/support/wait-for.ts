/** Waits until `probe` gives something other than undefined, null or false; fails with `what` after `ms`. */
export async function waitFor<T>(what: string, probe: () => T | Promise<T>, ms = 10_000): Promise<NonNullable<T>> {
  const end = performance.now() + ms;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value as NonNullable<T>;
    if (performance.now() > end) throw new Error(`waited ${ms} ms in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
