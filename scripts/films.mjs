// Creates films and sounds for tests and for the pictures of the documentation.

/** Returns a film of some frames as WebM, recorded by the browser. @param draw statements that draw frame number `frame` into `context` */
export async function recordFilm(page, width, height, draw) {
  const base64 = await page.evaluate(`(async () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: ${width}, height: ${height} });
    const context = canvas.getContext('2d');
    const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: 'video/webm;codecs=vp8' });
    const parts = [];
    recorder.ondataavailable = ({ data }) => data.size > 0 && parts.push(data);
    const ended = new Promise((resolve) => (recorder.onstop = resolve));
    recorder.start(100);
    // On a busy machine, the recorder may begin late, so more frames are drawn until it has data.
    for (let frame = 0; frame < 20 || (parts.length === 0 && frame < 1000); frame++) {
      ${draw}
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    recorder.stop();
    await ended;
    const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
    return btoa([...bytes].map((byte) => String.fromCharCode(byte)).join(''));
  })()`);
  return Buffer.from(base64, 'base64');
}

/** Returns silence as a WAV file, with 8,000 one-byte samples per second. @param seconds duration */
export function silence(seconds) {
  const samples = Math.round(8000 * seconds);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(8000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples, 40);
  return Buffer.concat([head, Buffer.alloc(samples, 0x80)]);
}
