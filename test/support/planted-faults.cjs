// Loaded before svc (NODE_OPTIONS=--require, which also works with a binary). Plants faults in the program, because no real fault is known.
const { Hash } = require('node:crypto');
const fs = require('node:fs');
const { OutgoingMessage, ServerResponse } = require('node:http');
const { syncBuiltinESMExports } = require('node:module');
const { dirname, join } = require('node:path');

const planted = (where) => new TypeError(`planted ${where}`);
const holds = (value, text) => (Buffer.isBuffer(value) ? value : Buffer.from(String(value))).includes(text);

// A fault outside any request.
process.on('SIGUSR2', () => {
  if (process.env.PLANTED === 'rejection') void Promise.reject(planted('rejection'));
  else throw planted('signal');
});

// A fault in the journal writer, when it writes an event of the path `/planted-journal`.
const { writeSync } = fs;
fs.writeSync = (fd, bytes, ...rest) => {
  if (holds(bytes, '/planted-journal')) throw planted('journal');
  return writeSync(fd, bytes, ...rest);
};

// A fault in a listener of a request's body.
const { update } = Hash.prototype;
Hash.prototype.update = function (data, ...rest) {
  if (holds(data, 'planted-chunk')) throw planted('chunk');
  return update.call(this, data, ...rest);
};

// A fault where a reply is written, so that no reply is possible.
const { writeHead } = ServerResponse.prototype;
ServerResponse.prototype.writeHead = function (status, headers, ...rest) {
  if (this.req.headers['x-request-id'] === 'planted-head') throw planted('head');
  return writeHead.call(this, status, headers, ...rest);
};

// A fault in a listener of a reply's end.
const { get } = Object.getOwnPropertyDescriptor(OutgoingMessage.prototype, 'headersSent');
Object.defineProperty(OutgoingMessage.prototype, 'headersSent', {
  get() {
    if (this.destroyed && this.req?.headers['x-request-id'] === 'planted-close') throw planted('close');
    return get.call(this);
  },
});

// Faults of the disk. A folder with a member `planted-sync` cannot be synced, nor can a journal with an event of the upload
// `planted-lines`.
const { close, fsync, fsyncSync, fdatasync } = fs;
const isPlanted = (fd) => fs.existsSync(join(fs.readlinkSync(`/proc/self/fd/${fd}`), 'planted-sync'));
const isPlantedJournal = (fd) => {
  const path = fs.readlinkSync(`/proc/self/fd/${fd}`);
  return path.endsWith('.ndjson') && /"id":"(?:40017|30068)".*"path":"\/planted-lines"/.test(fs.readFileSync(path, 'utf8'));
};
const eio = (call) => Object.assign(new Error(`EIO: i/o error, ${call}`), { errno: -5, code: 'EIO', syscall: call });
fs.fsync = (fd, done) => (isPlanted(fd) ? process.nextTick(done, eio('fsync')) : fsync(fd, done));
fs.fsyncSync = (fd) => {
  if (isPlanted(fd)) throw eio('fsync');
  fsyncSync(fd);
};
// In a folder with a member `planted-slow`, the disk takes 700 ms to sync or close a file with the content of an upload.
const isSlow = (fd) => {
  const [path] = fs.readlinkSync(`/proc/self/fd/${fd}`).split(' (deleted)');
  return /\.(?:part|kept)$/.test(path) && fs.existsSync(join(dirname(path), 'planted-slow'));
};
const slowly = (fd, action) => (isSlow(fd) ? setTimeout(action, 700) : action());
fs.fdatasync = (fd, done) => (isPlantedJournal(fd) ? process.nextTick(done, eio('fdatasync')) : slowly(fd, () => fdatasync(fd, done)));
fs.close = (fd, done) => slowly(fd, () => close(fd, done));

syncBuiltinESMExports();
