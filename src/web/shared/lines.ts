/** Yields the lines of a reply as they arrive, without empty ones. */
export async function* readLines({ body }: Response): AsyncGenerator<string> {
  if (!body) return;
  let rest = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); ; read = await reader.read()) {
    const parts = (rest + (read.value ?? '')).split('\n');
    rest = read.done ? '' : (parts.pop() ?? '');
    yield* parts.filter((line) => line !== '');
    if (read.done) return;
  }
}
