/**
 * Named places at which a test can end the process as `kill -9` would: HERMES_CRASH_AT=label, or label:n for the n-th passing.
 * Without it the function does nothing.
 */
export function createCrashPoints(spec: string | undefined): (label: string) => void {
  if (!spec) return () => {};
  const [wanted, count = '1'] = spec.split(':');
  let left = Number(count);
  return (label) => {
    if (label === wanted && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
