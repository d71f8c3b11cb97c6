import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordFilm, silence } from '../../scripts/films.mjs';
import { assertAccessible, browserTest, openFolder, touch } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

browserTest('the grid shows a frame of each film; an opened film loads, and a swipe shows the next', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server);
  const film = await recordFilm(page, 320, 180, "context.fillStyle = 'rgb(200, 20, 20)'; context.fillRect(0, 0, 320, 180);");
  for (let index = 0; index < 8; index++) writeFileSync(join(server.home, `film${index}.webm`), film);
  writeFileSync(join(server.home, 'broken.mp4'), 'no film');
  await page.reload();
  await page.getByRole('link', { name: 'Show as a grid' }).click();
  await page.locator('canvas.thumbnail').nth(7).waitFor({ state: 'attached' });
  const [width, height, red, green] = await page.evaluate<number[]>(`(() => {
    const canvas = document.querySelector('canvas.thumbnail');
    const { data } = canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1);
    return [canvas.width, canvas.height, data[0], data[1]];
  })()`);
  assert.deepEqual([width, height], [320, 180]);
  assert.ok((red ?? 0) > 150 && (green ?? 255) < 80, `a frame of the film: ${red}, ${green}`);
  assert.equal(await page.locator('tr', { hasText: 'broken.mp4' }).locator('canvas').count(), 0);
  await page.getByRole('link', { name: 'film3.webm' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('video').waitFor();
  await dialog.getByText('5 of 9').waitFor();
  await page.keyboard.press('ArrowLeft');
  await dialog.getByText('4 of 9').waitFor();
  // The size of the element is known with its first frame.
  await until('the film can be shown', () => page.evaluate<boolean>("document.querySelector('dialog video')?.readyState >= 2"));
  const box = await dialog.locator('video').boundingBox();
  assert.ok(box);
  const session = await page.context().newCDPSession(page);
  const swipe = (y: number) => touch(session, [{ from: [box.x + box.width - 60, y], to: [box.x + 60, y] }]);
  await swipe(box.y + box.height - 12);
  assert.equal(
    await dialog.locator('.position').textContent(),
    'Preview 4 of 9',
    'a swipe on the controls of the player shows no other film',
  );
  await swipe(box.y + 20);
  await dialog.getByText('5 of 9').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'broken.mp4' }).click();
  await dialog.getByText('This cannot be played').waitFor();
  const download = dialog.locator('.trouble').getByRole('link', { name: 'Download' });
  assert.match((await download.getAttribute('href')) ?? '', /\/broken\.mp4$/);
});

browserTest(
  'the player plays the sounds of a folder in order, skips files without sound, and continues while the page is used',
  async (t) => {
    const server = await startServer(t);
    for (const name of ['1.wav', '2.wav', '4.wav']) writeFileSync(join(server.home, name), silence(name === '4.wav' ? 60 : 0.3));
    writeFileSync(join(server.home, '3.mp3'), 'no sound');
    writeFileSync(join(server.home, 'a.txt'), 'text');
    const page = await openFolder(t, server, { viewport: { width: 320, height: 640 } });
    await page.getByRole('link', { name: '1.wav' }).click();
    const player = page.getByRole('region', { name: 'Player' });
    await player.getByText('4 of 4').waitFor();
    await player.getByText('4.wav').waitFor();
    await page.getByText('3.mp3 cannot be played: it is damaged').waitFor();
    await player.getByRole('button', { name: 'Pause' }).waitFor();
    await player.getByText('/ 1:00').waitFor();
    await assertAccessible(page, 'the player');
    assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth'), 0);

    await page.getByRole('link', { name: 'a.txt' }).click();
    await page.getByRole('dialog').getByText('text', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await player.getByRole('slider', { name: 'Position' }).focus();
    await page.keyboard.press('End');
    await player.getByText('1:00 / 1:00').waitFor();
    await player.getByRole('button', { name: 'Play' }).waitFor();
    assert.equal(await player.getByRole('button', { name: 'Next' }).isDisabled(), true, 'no sound follows the last one of the folder');
    await player.getByRole('button', { name: 'Previous' }).click();
    await player.getByText('4 of 4').waitFor();
    await player.getByRole('button', { name: 'Close' }).click();
    await player.waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('document.activeElement.textContent'), '4.wav');
  },
);
